"""Documents of versions before v1, converted to the text of v1."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from kschedweb.engine.documents.marked_documents import as_yaml

if TYPE_CHECKING:
    from kschedweb.engine.config.notes import Conversion

# Columns of a comment in the converted YAML.
WIDTH = 110


def as_v1(conversion: Conversion) -> str:
    """Return the YAML of the document of v1, below comments with the notes on its conversion."""
    lines = [f"# {conversion.summary}"]
    for note in conversion.notes:
        note_text = ": ".join(dict.fromkeys(part for part in (note.path, note.name, note.text) if part))
        lines += textwrap.wrap(
            note_text, WIDTH, initial_indent="# - ", subsequent_indent="#   ", break_long_words=False
        )
    return "\n".join(lines) + "\n" + as_yaml(conversion.document)
