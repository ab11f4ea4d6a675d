"""Two profiles side by side: what differs between them, and everything that both say."""

from __future__ import annotations

from kschedweb.engine.releases import load
from kschedweb.policies.profile_comparison.selectors import compare_profiles_at

TWO = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
  - schedulerName: batch
    percentageOfNodesToScore: 30
    plugins:
      score:
        disabled: [{name: ImageLocality}]
    pluginConfig:
      - name: NodeResourcesFit
        args: {scoringStrategy: {type: MostAllocated}}
"""


def test_differences_come_first_and_equal_lines_are_known() -> None:
    comparison = compare_profiles_at(load(TWO).configuration, 0, 1)
    assert comparison is not None
    assert (comparison.first, comparison.second) == ("default-scheduler", "batch")
    assert [(change.location, change.subject, change.before, change.after) for change in comparison.changes] == [
        ("", "percentageOfNodesToScore", "", "30"),
        ("score", "ImageLocality", "on", "off"),
        ("", "NodeResourcesFit", "LeastAllocated", "MostAllocated"),
    ]
    different = [line.where for line in comparison.lines if not line.is_same]
    assert [line.where for line in comparison.lines[: len(different)]] == different
    assert set(different) == {"percentageOfNodesToScore", "score", "NodeResourcesFit scoringStrategy.type"}
    assert {"filter", "bind", "InterPodAffinity hardPodAffinityWeight"} <= {line.where for line in comparison.lines}


def test_the_other_way_round_it_is_the_reverse() -> None:
    forward, back = (compare_profiles_at(load(TWO).configuration, *pair) for pair in ((0, 1), (1, 0)))
    assert forward is not None
    assert back is not None
    assert [(change.before, change.after) for change in back.changes] == [
        (change.after, change.before) for change in forward.changes
    ]


def test_equal_profiles_do_not_differ() -> None:
    same = TWO[: TWO.index("    percentage")]
    comparison = compare_profiles_at(load(same).configuration, 0, 1)
    assert comparison is not None
    assert comparison.changes == []


def test_without_another_profile_or_a_valid_document_there_is_none() -> None:
    runs = load(TWO).configuration
    assert compare_profiles_at(runs, 0, None) is None
    assert compare_profiles_at(runs, 1, 1) is None
    assert compare_profiles_at(runs, 0, 2) is None
    assert compare_profiles_at(None, 0, 1) is None
