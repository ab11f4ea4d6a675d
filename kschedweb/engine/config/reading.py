"""Configuration text into plain values: JSON as written, YAML as the JSON that kube-scheduler makes of it.

Two limits are this project's own: 1 MiB of text and 50 levels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from kschedweb.engine.config.json_syntax import syntax_error
from kschedweb.engine.config.source import MAX_BYTES, MAX_DEPTH, DocumentSource, JsonObject, UnreadableError
from kschedweb.engine.validation.golang import Literal

# Strings are matched so that brackets inside them do not count. The possessive quantifier keeps it linear.
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def read_document(document: str | bytes | Mapping[str, Any]) -> DocumentSource:
    """Read YAML or JSON text, or accept a mapping as if it had been JSON. Raises ``UnreadableError``."""
    if isinstance(document, Mapping):
        return _read_json(_dump_json(document))
    text = document if isinstance(document, str) else _decode_utf8(document)
    if len(text) > MAX_BYTES:
        raise UnreadableError(f"the document has more than {MAX_BYTES} bytes")
    if text.lstrip(" \t\r\n").startswith("{"):
        return _read_json(text)
    from kschedweb.engine.config import yaml_text

    return yaml_text.read_yaml(text)


def _dump_json(document: Mapping[str, Any]) -> str:
    try:
        return json.dumps(document, default=dict)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnreadableError(f"the document cannot be written as JSON: {error}") from error


def _decode_utf8(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"the document is not UTF-8 text: byte {error.start} is {error.reason}") from error


def _read_json(text: str) -> DocumentSource:
    check_depth(text)
    try:
        value = json.loads(
            text,
            object_pairs_hook=JsonObject,
            parse_float=Literal,
            parse_int=_parse_int,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError) as error:
        complaint = syntax_error(text) or str(error)
        raise UnreadableError(
            f"couldn't get version/kind; json parse error: {complaint}", _error_line(error)
        ) from error
    return DocumentSource(value, text)


def check_depth(text: str) -> None:
    """Refuse text whose brackets nest too deep, before a recursive reader sees it."""
    depth = 0
    for match in _BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if depth > MAX_DEPTH:
            raise UnreadableError(
                f"the document nests deeper than {MAX_DEPTH} levels", text.count("\n", 0, match.start()) + 1
            )


def _error_line(error: BaseException) -> int | None:
    return error.lineno if isinstance(error, json.JSONDecodeError) else None


# Such a number fits no integer type, and Python's int() takes time quadratic in the digits.
def _parse_int(text: str) -> int | Literal:
    return int(text) if len(text) < 64 else Literal(text)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
