"""Diffs say what differs in what kube-scheduler would do."""

from __future__ import annotations

from kschedweb.engine.releases import load
from kschedweb.policies import diff

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def told(old: str, new: str) -> list[str]:
    return [
        f"{change.where or 'all'}: {change}" for change in diff.list_changes(load(HEADER + old), load(HEADER + new))
    ]


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
