"""The text of an old configuration as people print it: with ``...`` for omissions, and ``//`` for comments."""

from __future__ import annotations

import re

from kschedweb.engine.config.notes import NEAR, Note
from kschedweb.engine.releases.older.versions import VERSIONS

_VERSIONS = "|".join(map(re.escape, VERSIONS))
_OLD = re.compile(rf"""^(?:\s*{{)?[ ]{{0,3}}["']?apiVersion["']?[ \t]*:[ \t]*["']?(?:{_VERSIONS})(?![\w.])""", re.M)
# Not within a URL: a comment's slashes are followed by a space or a letter beyond ASCII.
_COMMENT = re.compile(r"//(?=\s|[^\x00-\x7f])")
_LEFT_OUT = re.compile(r"^\.\.\.[ \t]*$", re.M)


def is_old(text: str) -> bool:
    """Return whether a line of ``text`` names a version before v1."""
    return _OLD.search(text) is not None


def make_readable(text: str) -> str:
    """Return ``text`` with people's marks as YAML comments, line by line; unchanged if it is of another version.

    A ``...`` ends a document for kube-scheduler, which would not read the rest.
    """
    return _convert_marks(text)[0]


def list_marks(text: str) -> list[Note]:
    """Return notes on the changes of ``make_readable``."""
    return _convert_marks(text)[1]


def _convert_marks(text: str) -> tuple[str, list[Note]]:
    if not is_old(text) or text.lstrip().startswith("{"):
        return text, []
    lines, notes = text.split("\n"), []
    for number, line in enumerate(lines):
        if _LEFT_OUT.match(line) and any(later.strip() for later in lines[number + 1 :]):
            message = "kube-scheduler reads nothing behind it; here it stands for what was left out."
            notes.append(Note("", f"line {number + 1}: ...", NEAR, message))
            lines[number] = f"# {line}"
        elif (comment := _COMMENT.search(line)) and "#" not in line[: comment.start()]:
            message = "It is no comment in YAML; here it is read as one."
            notes.append(Note("", f"line {number + 1}: //", NEAR, message))
            lines[number] = f"{line[: comment.start()]} # {line[comment.start() :]}"
    return "\n".join(lines), notes
