"""Functions on strings. Indexes count characters, as kube-scheduler's do."""

from __future__ import annotations

from kschedweb.engine.cel.cost import MAX_LENGTH, check_size
from kschedweb.engine.cel.errors import EvaluationError
from kschedweb.engine.cel.functions import Library, Run
from kschedweb.engine.cel.values import Value, format_value

# EARLIER up to 1.36, LATER since 1.37.
LIBRARY, EARLIER, LATER = Library(), Library(), Library()

# Go's `unicode.IsSpace`; Python's `strip()` would remove the separators 0x1c to 0x1f too.
_SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
# ASCII only, as the functions' names say; `str.upper` would change more.
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_QUOTED = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def _out_of_range(place: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {place}")


def char_at(text: str, place: int) -> str:
    if not 0 <= place <= len(text):
        raise _out_of_range(place)
    return text[place : place + 1]


def index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start)


def index_within(text: str, part: str, start: int = 0) -> int:
    """Return the index as ``index_of`` does; an empty part is found at ``start``, at the end at the latest."""
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start) if part else min(start, len(text))


def last_index_within(text: str, part: str, start: int) -> int:
    """Return the index as ``last_index_of_from`` does; an empty part is found at ``start`` or at the end."""
    if start < 0:
        raise _out_of_range(start)
    return last_index_of_from(text, part, start) if part else min(start, len(text))


def last_index_of(text: str, part: str) -> int:
    if not part:
        return len(text)
    return text.rfind(part)


def last_index_of_from(text: str, part: str, start: int) -> int:
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return -1 if start >= len(text) else text.rfind(part, 0, start + len(part))


def replace(text: str, old: str, new: str, count: int = -1) -> str:
    times = text.count(old)
    times = times if count < 0 else min(times, count)
    check_size(len(text) + times * (len(new) - len(old)), MAX_LENGTH)
    return text.replace(old, new, times)


def split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if separator:
        return text.split(separator, count - 1 if count > 0 else -1)
    characters = list(text)
    if 0 < count < len(characters):
        return [*characters[: count - 1], "".join(characters[count - 1 :])]
    return characters


def substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def substring_between(text: str, start: int, end: int) -> str:
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for place in (start, end):
        if not 0 <= place <= len(text):
            raise _out_of_range(place)
    return text[start:end]


def join(values: list[Value], separator: str = "") -> str:
    for value in values:
        if type(value) is not str:
            raise EvaluationError(f"join: invalid input: {format_value(value)}")
    check_size(sum(map(len, values)) + len(separator) * len(values), MAX_LENGTH)
    return separator.join(values)


def _declare_functions() -> None:
    def add_member(name: str, form: str, run: Run) -> None:
        LIBRARY.add_overloads(name, form, run, member=True)

    add_member("charAt", "string, int -> string", char_at)
    add_member("indexOf", "string, string -> int", index_of)
    EARLIER.add_overloads("indexOf", "string, string, int -> int", index_of, member=True)
    LATER.add_overloads("indexOf", "string, string, int -> int", index_within, member=True)
    add_member("lastIndexOf", "string, string -> int", last_index_of)
    EARLIER.add_overloads("lastIndexOf", "string, string, int -> int", last_index_of_from, member=True)
    LATER.add_overloads("lastIndexOf", "string, string, int -> int", last_index_within, member=True)
    add_member("lowerAscii", "string -> string", lambda text: text.translate(_LOWER))
    add_member("replace", "string, string, string -> string", replace)
    add_member("replace", "string, string, string, int -> string", replace)
    add_member("split", "string, string -> list(string)", split)
    add_member("split", "string, string, int -> list(string)", split)
    add_member("substring", "string, int -> string", substring)
    add_member("substring", "string, int, int -> string", substring_between)
    add_member("trim", "string -> string", lambda text: text.strip(_SPACES))
    add_member("upperAscii", "string -> string", lambda text: text.translate(_UPPER))
    add_member("join", "list(string) -> string", join)
    add_member("join", "list(string), string -> string", join)
    LIBRARY.add_overloads("strings.quote", "string -> string", lambda text: f'"{text.translate(_QUOTED)}"')


_declare_functions()
