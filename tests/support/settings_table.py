"""The tables of settings in docs/settings.md and README.md; `make settings` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from kschedweb.web.env import Boolean, Integer, Variable
from kschedweb.web.variables import CHAPTERS, FIRST

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT, README = ROOT / "docs" / "settings.md", ROOT / "README.md"
IN_README = re.compile(r"(?<=<!-- make settings -->\n\n)(?:\|.*\n)+")
HEAD = """# Settings

<!-- `make settings` writes this file from kschedweb/web/variables.py. -->

Set them as environment variables of every process. An empty value counts as unset. An invalid value stops the start
with one line that names the variable.

For a variable marked ▪ you can set `NAME_FILE` instead: the path of a file that holds the value.

The `kschedweb` command line has variables of its own: [automating.md](automating.md).
"""


def write_row(variable: Variable, *, brief: bool = False) -> str:
    """Return the row of ``variable``, ``brief``: with the first sentence of its meaning."""
    value = str(getattr(variable, "default", ""))
    if isinstance(variable, Boolean):
        value = value.lower()
    default = variable.unset or (f"`{value}`" if value else "none")
    meaning = variable.meaning
    if brief:
        meaning = meaning.partition(". ")[0].removesuffix(".") + "."
    elif isinstance(variable, Integer):
        meaning += f" `{variable.minimum}` to `{variable.maximum}`."
    return f"| `{variable.name}`{' ▪' if variable.takes_file else ''} | {default} | {meaning} |"


def write_table(variables: Iterable[Variable], *, brief: bool = False) -> str:
    rows = [write_row(variable, brief=brief) for variable in variables]
    lines = ["| variable | default | meaning |", "|---|---|---|", *rows]
    return "".join(f"{line}\n" for line in lines)


def write_document() -> str:
    chapters = [f"## {title}\n\n{write_table(variables)}" for title, variables in CHAPTERS.items()]
    return "\n".join([HEAD, *chapters])


def write_readme() -> str:
    table = re.sub(r"\]\((?!\w+:)", "](docs/", write_table(FIRST, brief=True))
    return IN_README.sub(lambda _: table, README.read_text(encoding="utf-8"))


def main() -> None:
    DOCUMENT.write_text(write_document(), encoding="utf-8")
    README.write_text(write_readme(), encoding="utf-8")


if __name__ == "__main__":
    main()
