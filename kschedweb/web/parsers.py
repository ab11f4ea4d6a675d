"""Parsers of REST bodies. They need their own module, because DRF's views import it during their own import."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from rest_framework import exceptions, parsers

from kschedweb.web.errors import TooLarge

# Levels of nesting: far more than any document has, and far fewer than Python's stack takes.
MAX_DEPTH = 200


def _too_deep(value: Any) -> bool:
    layer = [value]
    for _ in range(MAX_DEPTH):
        layer = [
            item
            for parent in layer
            for item in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(item, (dict, list))
        ]
        if not layer:
            return False
    return True


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


class StrictJSONParser(parsers.JSONParser):
    """JSON within the upload limit, without NaN, lone surrogates, endless digits, or endless nesting."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        raw = stream.read(settings.UPLOAD_LIMIT + 1)
        if len(raw) > settings.UPLOAD_LIMIT:
            raise TooLarge("The body is larger than this server allows.")
        try:
            value = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
        except RecursionError:
            raise exceptions.ParseError("The JSON is nested too deeply.") from None
        except UnicodeDecodeError:
            raise exceptions.ParseError("The body is not UTF-8.") from None
        except ValueError as error:
            raise exceptions.ParseError(f"The body is not JSON: {error}.") from None
        if isinstance(value, (dict, list)) and _too_deep([value]):
            raise exceptions.ParseError(f"The JSON is nested more than {MAX_DEPTH} levels deep.")
        # Only an escape can bring a lone surrogate, since the text was valid UTF-8.
        if b"\\u" in raw:
            _refuse_surrogates(value)
        return value


def _refuse_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise exceptions.ParseError("The JSON holds half of a surrogate pair.") from None
