"""Two texts side by side, and as a patch."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.policies.revisions import text_diff

LINES = st.lists(st.sampled_from(["a", "b", "c", "", " d"]), max_size=12)


@given(old=LINES, new=LINES)
def test_each_side_holds_its_whole_text(old: list[str], new: list[str]) -> None:
    rows = text_diff.diff_lines("\n".join(old), "\n".join(new))
    assert [row.old for row in rows if row.old_number] == "\n".join(old).splitlines()
    assert [row.new for row in rows if row.new_number] == "\n".join(new).splitlines()
    for row in rows:
        if row.kind != "changed":
            on_both_sides = row.old_number is not None and row.new_number is not None
            assert (row.kind == "same") == (on_both_sides and row.old == row.new)
    folded = text_diff.fold_equal_lines(rows)
    assert sum(item if isinstance(item, int) else 1 for item in folded) == len(rows)
    assert all(item > 1 for item in folded if isinstance(item, int))


def test_the_patch_is_what_diff_writes() -> None:
    assert text_diff.unified_patch("a\nb\n", "a\nc\n", "x", "y") == "--- x\n+++ y\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    assert text_diff.unified_patch("a\n", "a\n", "x", "y") == ""
