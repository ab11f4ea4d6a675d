"""Diffs say what differs in what kube-scheduler would do."""

from __future__ import annotations

from kschedweb.engine.releases import load
from kschedweb.policies import diff

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def describe_changes(old: str, new: str) -> list[str]:
    return [
        f"{change.location or 'all'}: {change}" for change in diff.list_changes(load(HEADER + old), load(HEADER + new))
    ]


def test_a_change_of_meaning_is_one_sentence() -> None:
    fit = "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}]\n"
    assert describe_changes("", fit) == ["default-scheduler: NodeResourcesFit: LeastAllocated → MostAllocated"]
    weight = "profiles: [{plugins: {multiPoint: {enabled: [{name: ImageLocality, weight: 9}]}}}]\n"
    assert describe_changes("", weight) == ["default-scheduler · score: ImageLocality weight: 1 → 9"]
    off = "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeAffinity}]}}}]\n"
    assert describe_changes("", off) == [
        "default-scheduler · preFilter, filter, preScore, score: NodeAffinity: on → off"
    ]
    assert describe_changes("parallelism: 4\n", "") == ["all: parallelism: 4 → 16"]


def test_profiles_come_and_go() -> None:
    two = "profiles: [{schedulerName: default-scheduler}, {schedulerName: b}]\n"
    assert describe_changes("", two) == ["b: profile: absent → b"]
    assert describe_changes(two, "") == ["b: profile: b → absent"]


def test_text_alone_is_no_change_of_meaning() -> None:
    assert describe_changes("# a comment\n", "parallelism: 16\n") == []
    assert describe_changes("", "parallelism: 0\n") == []  # Nothing is said about what is not valid.
