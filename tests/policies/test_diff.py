"""Diffs say what differs in the text, and what differs in what kube-scheduler would do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.config import load
from kschedweb.policies import diff

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
LINES = st.lists(st.sampled_from(["a", "b", "c", "", " d"]), max_size=12)


def told(old: str, new: str) -> list[str]:
    return [f"{change.where or 'all'}: {change}" for change in diff.changes(load(HEADER + old), load(HEADER + new))]


@given(old=LINES, new=LINES)
def test_each_side_holds_its_whole_text(old: list[str], new: list[str]) -> None:
    rows = diff.lines("\n".join(old), "\n".join(new))
    assert [row.old for row in rows if row.old_number] == "\n".join(old).splitlines()
    assert [row.new for row in rows if row.new_number] == "\n".join(new).splitlines()
    for row in rows:
        if row.kind != "changed":
            on_both_sides = row.old_number is not None and row.new_number is not None
            assert (row.kind == "same") == (on_both_sides and row.old == row.new)
    folded = diff.folded(rows)
    assert sum(item if isinstance(item, int) else 1 for item in folded) == len(rows)
    assert all(item > 1 for item in folded if isinstance(item, int))


def test_a_change_of_meaning_is_one_sentence() -> None:
    fit = "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}]\n"
    assert told("", fit) == ["default-scheduler: NodeResourcesFit: LeastAllocated → MostAllocated"]
    weight = "profiles: [{plugins: {multiPoint: {enabled: [{name: ImageLocality, weight: 9}]}}}]\n"
    assert told("", weight) == ["default-scheduler · score: ImageLocality weight: 1 → 9"]
    off = "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeAffinity}]}}}]\n"
    assert told("", off) == ["default-scheduler · preFilter, filter, preScore, score: NodeAffinity: on → off"]
    assert told("parallelism: 4\n", "") == ["all: parallelism: 4 → 16"]


def test_profiles_come_and_go() -> None:
    two = "profiles: [{schedulerName: default-scheduler}, {schedulerName: b}]\n"
    assert told("", two) == ["b: profile: absent → b"]
    assert told(two, "") == ["b: profile: b → absent"]


def test_text_alone_is_no_change_of_meaning() -> None:
    assert told("# a comment\n", "parallelism: 16\n") == []
    assert told("", "parallelism: 0\n") == []  # Nothing is said about what is not valid.


def test_the_patch_is_what_diff_writes() -> None:
    assert diff.unified("a\nb\n", "a\nc\n", "x", "y") == "--- x\n+++ y\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    assert diff.unified("a\n", "a\n", "x", "y") == ""
