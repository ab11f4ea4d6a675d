"""Line-by-line differences of two texts."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from io import StringIO

# Equal lines shown around a change, as ``diff -u`` has by default.
CONTEXT_LINES = 3


@dataclass(frozen=True)
class DiffLine:
    """A row of the side-by-side view."""

    # One of same, changed, added, removed.
    kind: str
    # None if the old text has no such line.
    old_number: int | None
    old: str
    new_number: int | None
    new: str


def diff_lines(old: str, new: str) -> list[DiffLine]:
    """Return both whole texts side by side."""
    old_lines, new_lines = split_lines(old), split_lines(new)
    rows: list[DiffLine] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes():
        for step in range(max(i2 - i1, j2 - j1)):
            i, j = i1 + step, j1 + step
            has_old, has_new = i < i2, j < j2
            kind = "same" if tag == "equal" else "changed" if has_old and has_new else "removed" if has_old else "added"
            rows.append(
                DiffLine(
                    kind,
                    i + 1 if has_old else None,
                    old_lines[i] if has_old else "",
                    j + 1 if has_new else None,
                    new_lines[j] if has_new else "",
                )
            )
    return rows


def _split_with_ends(text: str) -> list[str]:
    """Return the lines with their ends. Only a newline ends a line, as for programs that patch files."""
    return StringIO(text, newline="\n").readlines()


def split_lines(text: str) -> list[str]:
    """Return the lines without their ends."""
    return [line.rstrip("\r\n") for line in _split_with_ends(text)]


def fold_equal_lines(rows: list[DiffLine], context: int = CONTEXT_LINES) -> list[DiffLine | int]:
    """Return ``rows`` with runs of equal lines far from any change replaced by their number."""
    near = [False] * len(rows)
    for index, row in enumerate(rows):
        if row.kind != "same":
            for other in range(max(index - context, 0), min(index + context + 1, len(rows))):
                near[other] = True
    # A single line is as short as the note about it, so it is shown.
    for index in range(len(rows)):
        if all(near[index - 1 : index] or [True]) and all(near[index + 1 : index + 2] or [True]):
            near[index] = True
    result: list[DiffLine | int] = []
    for row, keep in zip(rows, near, strict=True):
        if keep:
            result.append(row)
        elif result and isinstance(result[-1], int):
            result[-1] += 1
        else:
            result.append(1)
    return result


def unified_patch(old: str, new: str, old_name: str, new_name: str) -> str:
    """Return a patch in the format of ``diff -u``; empty without differences."""
    return "".join(unified_diff(_split_with_ends(old), _split_with_ends(new), old_name, new_name, n=CONTEXT_LINES))
