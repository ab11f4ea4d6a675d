"""Write answers: a table for people, JSON or YAML for programs."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

TABLE, JSON, YAML = "table", "json", "yaml"
FORMS = (TABLE, JSON, YAML)
# Characters of one field.
WIDEST = 100
# Characters of other people's names that are valid in JSON and YAML but would control a terminal.
STEERING = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def add_output_option(parser: argparse.ArgumentParser, default: str = argparse.SUPPRESS) -> None:
    """Add the option for the form of the answer. A verb has it too, without a default of its own."""
    parser.add_argument("-o", "--output", choices=FORMS, default=default, help="table without it")


def write_answer(form: str, answer: Any, table: str) -> None:
    """Write ``answer`` to stdout in a program's form, or ``table``."""
    if form == JSON:
        text = STEERING.sub(_escape_character, json.dumps(answer, ensure_ascii=False, indent=2)) + "\n"
    elif form == YAML:
        text = _to_yaml(answer, allow_unicode=True)
        if STEERING.search(text):
            text = _to_yaml(answer, allow_unicode=False)
    else:
        text = table if table.endswith("\n") else table + "\n"
    write_raw(text)


def _to_yaml(answer: Any, *, allow_unicode: bool) -> str:
    import yaml

    return str(yaml.safe_dump(answer, allow_unicode=allow_unicode, sort_keys=False, width=120))


def _escape_character(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def write_raw(text: str) -> None:
    """Write ``text`` to stdout, with lone surrogates escaped, which no stream accepts."""
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode())
    sys.stdout.flush()


def write_error(program: str, text: str) -> None:
    """Write one line to stderr."""
    sys.stderr.write(f"{program}: {escape_unprintable(' '.join(text.splitlines()))}\n")


def format_table(head: Sequence[str], listed: Iterable[Sequence[object]]) -> str:
    """Return columns with their names above, as kubectl writes them; "" becomes "-"."""
    cells = [list(head), *([_format_field(value) for value in row] for row in listed)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    lines = ["   ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join(lines) + "\n"


def format_pairs(listed: Iterable[tuple[str, object]]) -> str:
    """Return one line per name: ``Name:  value``."""
    lines = [(name, _format_field(value, 10 * WIDEST)) for name, value in listed]
    width = max((len(name) for name, _ in lines), default=0) + 1
    return "".join(f"{name + ':':<{width}}  {value}\n" for name, value in lines)


def escape_unprintable(text: str) -> str:
    """Return ``text`` without characters that would control a terminal: names and reasons are other people's."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def format_number(value: float | None) -> str:
    """Return a figure with separators and at most three decimals."""
    if value is None:
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3f}".rstrip("0").rstrip(".")


def format_time(text: str | None) -> str:
    """Return a time as ``2026-11-22 03:12:05``, in UTC as the server writes it."""
    return (text or "")[:19].replace("T", " ")


def _format_field(value: object, widest: int = WIDEST) -> str:
    text = escape_unprintable(" ".join(str("" if value is None else value).split()))
    return (f"{text[: widest - 1]}…" if len(text) > widest else text) or "-"


class Style:
    """Colours for a terminal; plain text elsewhere, and where NO_COLOR is set."""

    def __init__(self, environment: Mapping[str, str], stream: TextIO | None = None) -> None:
        stream = sys.stdout if stream is None else stream
        self.is_colored = stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"

    def _wrap(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_colored and text else text

    def title(self, text: str) -> str:
        return self._wrap("1", text)

    def good(self, text: str) -> str:
        return self._wrap("32", text)

    def bad(self, text: str) -> str:
        return self._wrap("31", text)

    def quiet(self, text: str) -> str:
        return self._wrap("2", text)
