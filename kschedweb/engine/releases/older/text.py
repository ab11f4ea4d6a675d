"""The text of an old configuration as people print it: with ``...`` for what is left out, and ``//`` for comments."""

from __future__ import annotations

import re

from kschedweb.engine.config.notes import NEAR, Note
from kschedweb.engine.releases.older.versions import VERSIONS

_VERSIONS = "|".join(map(re.escape, VERSIONS))
_OLD = re.compile(rf"""^(?:\s*{{)?[ ]{{0,3}}["']?apiVersion["']?[ \t]*:[ \t]*["']?(?:{_VERSIONS})(?![\w.])""", re.M)
_COMMENT = re.compile(r"//(?=\s|[^\x00-\x7f])")
_LEFT_OUT = re.compile(r"^\.\.\.[ \t]*$", re.M)


def is_old(text: str) -> bool:
    """Whether a line of ``text`` names a version before v1."""
    return _OLD.search(text) is not None


def readable(text: str) -> str:
    """``text`` with the marks of people as comments of YAML, of as many lines; as it is where it is of another version.

    A ``...`` ends a document for kube-scheduler, which would not read what follows.
    """
    return _read(text)[0]


def marks(text: str) -> list[Note]:
    """Notes on what ``readable`` changes."""
    return _read(text)[1]


def _read(text: str) -> tuple[str, list[Note]]:
    if not is_old(text) or text.lstrip().startswith("{"):
        return text, []
    lines, notes = text.split("\n"), []
    for number, line in enumerate(lines):
        if _LEFT_OUT.match(line) and any(one.strip() for one in lines[number + 1 :]):
            said = "kube-scheduler reads nothing behind it; here it stands for what was left out."
            notes.append(Note("", f"line {number + 1}: ...", NEAR, said))
            lines[number] = f"# {line}"
        elif (found := _COMMENT.search(line)) and "#" not in line[: found.start()]:
            said = "It is no comment in YAML; here it is read as one."
            notes.append(Note("", f"line {number + 1}: //", NEAR, said))
            lines[number] = f"{line[: found.start()]} # {line[found.start() :]}"
    return "\n".join(lines), notes
