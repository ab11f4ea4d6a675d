"""Reading JSON and YAML from strangers: within limits, without aliases, exactly as it stands.

Both give what JSON can say (mappings with text keys, lists, text, whole numbers of 64 bits, finite numbers, booleans,
null), so that nothing depends on which of the two somebody sent.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from sys import intern
from typing import Any, NoReturn

import yaml

from kschedweb.errors import ApplicationError

MAGIC = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf": "7z",
    b"%PDF": "PDF",
    b"\x7fELF": "ELF",
}
Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# An escape that could make text no database takes: half a surrogate pair, or NUL.
SUSPICIOUS = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")
CORE_TAG = re.compile(r"tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)")
WORDS: dict[str, bool | None] = dict.fromkeys(("", "~", "null", "Null", "NULL")) | {
    text: value
    for word, value in {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}.items()
    for text in (word, word.capitalize(), word.upper())
}
INTEGER = re.compile(r"[-+]?[0-9]+")
OCTAL = re.compile(r"[-+]?0[0-7]+")
OTHER_BASE = re.compile(r"([-+]?)(0x[0-9a-fA-F]+|0o[0-7]+|0b[01]+)")
FLOAT = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)")


class DocumentError(ApplicationError):
    """A text that is refused as a whole; the message says where and why."""


@dataclass(frozen=True)
class Limits:
    """How large a text may be: bytes (of YAML, which is slower to read, fewer), levels of nesting, and values."""

    size: int
    depth: int
    nodes: int
    yaml_size: int = 16 * 1024 * 1024


def documents_read(data: str | bytes, limits: Limits) -> list[Any]:
    """The documents in ``data``: JSON (one or several, one after the other) or YAML (separated by ``---``)."""
    if len(data) > limits.size:
        raise DocumentError(
            f"The text is larger than {size_text(limits.size)}, which is the most that is taken.", status=413
        )
    text = text_decode(data) if isinstance(data, bytes) else data
    if "\x00" in text:
        raise DocumentError("This is not text: it holds NUL bytes.")
    text = text.removeprefix("\ufeff")
    start = text.lstrip()[:1]
    if not start:
        raise DocumentError("The text is empty.")
    if start not in "{[" and len(text) > limits.yaml_size:
        raise DocumentError(
            f"This is more than {size_text(limits.yaml_size)} of YAML: send it as JSON (kubectl get … -o json).",
            status=413,
        )
    documents = _json(text, limits) if start in "{[" else _Yaml(text, limits).documents()
    if not documents:
        raise DocumentError("The text holds no document.")
    return documents


def text_decode(data: bytes) -> str:
    """``data`` as text: UTF-8, or UTF-16 with its mark, as some shells write it."""
    for magic, name in MAGIC.items():
        if data.startswith(magic):
            raise DocumentError(f"This is a {name} file: unpack it and send the JSON or YAML inside.")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise DocumentError(f"This is not text: byte {error.start + 1} is not {encoding.upper()}.") from None


def size_text(size: int) -> str:
    return f"{size // 1024 // 1024} MiB" if size >= 1024 * 1024 else f"{size // 1024} KiB"


def _whole(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= (number := int(text)) < 2**63:
        raise DocumentError(f"The number {text[:24]}… is too large: numbers have 64 bits.")
    return number


def _fraction(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise DocumentError(f"The number {text[:24]} is too large.")
    return number


# JSON ---------------------------------------------------------------------------------------------------------------


def json_decoder() -> json.JSONDecoder:
    """Reads JSON strictly: no key twice, no number that others cannot hold."""
    return json.JSONDecoder(
        object_pairs_hook=_mapping, parse_constant=_no_constant, parse_int=_whole, parse_float=_fraction
    )


def measured(value: Any, limits: Limits, depth: int, text: str, start: int, end: int) -> int:
    """How many values ``value`` consists of, which was read from ``text[start:end]`` inside of ``depth`` levels.

    Raises DocumentError where it goes beyond ``limits``, or holds text that cannot be stored.
    """
    strings = SUSPICIOUS.search(text, start, end) is not None
    if not strings and not isinstance(value, (dict, list)):
        return 1
    return _measure([value], replace(limits, depth=limits.depth - depth), strings=strings)


def _json(text: str, limits: Limits) -> list[Any]:
    decoder = json_decoder()
    documents, position = [], 0
    try:
        while position < len(text):
            position += len(text[position : position + 64]) - len(text[position : position + 64].lstrip())
            if position < len(text) and not text[position].isspace():
                document, position = decoder.raw_decode(text, position)
                documents.append(document)
    except json.JSONDecodeError as error:
        whole = "it ends in the middle" if error.pos >= len(text.rstrip()) else error.msg
        raise DocumentError(f"This is not JSON: {whole} (line {error.lineno}, column {error.colno}).") from None
    except RecursionError:
        raise DocumentError(f"The text is nested deeper than {limits.depth} levels.") from None
    _measure(documents, limits, strings=bool(SUSPICIOUS.search(text)))
    return documents


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = {intern(key): value for key, value in pairs}
    if len(mapping) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise DocumentError(f"The key {twice[:80]!r} stands twice in one mapping.")
    return mapping


def _no_constant(name: str) -> NoReturn:
    raise DocumentError(f"{name} is not a JSON value.")


def _measure(documents: list[Any], limits: Limits, *, strings: bool) -> int:
    """How many values there are.

    Refuses what is nested too deep, holds too many values, or (where asked) text that cannot be stored.
    """
    level: list[Any] = documents
    count = 0
    for _ in range(limits.depth + 1):
        count += len(level)
        if count > limits.nodes:
            raise DocumentError(f"The text holds more than {limits.nodes:,} values.", status=413)
        if strings:
            for value in level:
                _text_check(value)
        level = [inner for value in level if isinstance(value, (dict, list)) for inner in _inside(value)]
        if not level:
            return count
    raise DocumentError(f"The text is nested deeper than {limits.depth} levels.")


def _inside(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _text_check(value: Any) -> None:
    """Refuse text, or a mapping with a key, that no database takes."""
    if isinstance(value, dict):
        value = "".join(value)
    if isinstance(value, str) and ("\x00" in value or any("\ud800" <= character <= "\udfff" for character in value)):
        raise DocumentError("The text holds characters that cannot be stored (NUL, or half of a surrogate pair).")


# YAML ---------------------------------------------------------------------------------------------------------------


class _Yaml:
    """Builds documents from the parser's events, so that limits hold while reading and errors know their line."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.limits = limits
        self.count = 0

    def documents(self) -> list[Any]:
        found: list[Any] = []
        # Containers being filled; a mapping keeps its pending key beside it.
        stack: list[list[Any]] = []
        try:
            for event in yaml.parse(self.text, Loader=Loader):
                if isinstance(event, yaml.ScalarEvent):
                    self._add(stack, found, self._scalar(event), event)
                elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                    container: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
                    self._tag_check(event)
                    self._add(stack, found, container, event)
                    stack.append([container, None])
                    if len(stack) > self.limits.depth:
                        raise self._error(f"nested deeper than {self.limits.depth} levels", event)
                elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                    stack.pop()
                elif isinstance(event, yaml.AliasEvent):
                    raise self._error("aliases (*name) are not taken; write the value out", event)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
            raise DocumentError(f"This is not YAML: {error.problem or error.context}{where}.") from None
        except (yaml.YAMLError, UnicodeError) as error:
            raise DocumentError(f"This is not YAML: {str(error).splitlines()[0]}.") from None
        return [document for document in found if document is not None]

    def _add(self, stack: list[list[Any]], found: list[Any], value: Any, event: yaml.Event) -> None:
        self.count += 1
        if self.count > self.limits.nodes:
            raise DocumentError(f"The text holds more than {self.limits.nodes:,} values.", status=413)
        if not stack:
            found.append(value)
            return
        top = stack[-1]
        container, key = top
        if isinstance(container, list):
            container.append(value)
        elif key is None:
            top[1] = self._key(container, value, event)
        else:
            container[key] = value
            top[1] = None

    def _key(self, container: dict[str, Any], value: Any, event: yaml.Event) -> str:
        if isinstance(value, (dict, list)):
            raise self._error("a key must be text", event)
        key = value if isinstance(value, str) else json.dumps(value)
        if key in container:
            raise self._error(f"the key {key[:80]!r} stands twice in one mapping", event)
        return key

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        value: str = event.value
        tag = self._tag_check(event)
        if "\x00" in value:
            raise self._error("text with a NUL character cannot be stored", event)
        if tag == "str" or (not tag and not event.implicit[0]):
            return value
        resolved = self._resolve(value, event)
        if tag and tag != _tag_of(resolved) and not (tag == "float" and isinstance(resolved, int)):
            raise self._error(f"{value[:40]!r} is not of type {tag}", event)
        return resolved

    def _resolve(self, value: str, event: yaml.Event) -> Any:
        if value in WORDS:
            return WORDS[value]
        if value[0] not in "+-.0123456789":
            return value
        try:
            if INTEGER.fullmatch(value):
                return _whole(str(int(value, 8))) if OCTAL.fullmatch(value) else _whole(value)
            if other := OTHER_BASE.fullmatch(value):
                return _whole(f"{other[1]}{int(other[2], 0)}")
            if FLOAT.fullmatch(value):
                return _fraction(value)
        except (DocumentError, ValueError) as error:
            raise self._error(str(getattr(error, "detail", error)).rstrip("."), event) from None
        if NOT_FINITE.fullmatch(value):
            raise self._error(f"{value} is not a number that JSON knows", event)
        return value

    def _tag_check(self, event: Any) -> str:
        """The core type that the event's tag names, "" without one."""
        if not event.tag or event.tag == "!":
            return "str" if event.tag else ""
        core = CORE_TAG.fullmatch(event.tag)
        if core is None:
            raise self._error(f"the type {event.tag[:80]} is not taken", event)
        return core[1]

    def _error(self, message: str, event: yaml.Event) -> DocumentError:
        mark: Any = event.start_mark
        return DocumentError(f"Line {mark.line + 1}, column {mark.column + 1}: {message}.")


def _tag_of(value: Any) -> str:
    return {bool: "bool", int: "int", float: "float", str: "str"}.get(type(value), "null")
