"""The report of an upgrade: which pods go elsewhere and why, which messages, fields and gates change."""

from __future__ import annotations

import pytest

from kschedweb.clusters import demo
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import RELEASES, get_release
from kschedweb.engine.releases.changes import CHANGES
from kschedweb.engine.studies.gate.gate import GatePolicy, GateQuestion, compute_verdict, prepared_of
from kschedweb.engine.studies.gate.thresholds import Thresholds
from kschedweb.engine.studies.upgrade.configurations import NEW, REMOVED, compare_fields
from kschedweb.engine.studies.upgrade.report import compare_gates, split_clauses
from tests.engine.builders import CONFIGURATION
from tests.engine.studies.gates import cluster

CHANGE_BY_NAME = {change.name: change for change in CHANGES}


def upgraded(change: str, before: str, after: str, **switched: bool) -> Json | None:
    """The report over the cluster of a change."""
    scenario = CHANGE_BY_NAME[change].scenario or {}
    first, second = (
        GatePolicy("policy", None, release) for release in (get_release(before), get_release(after, switched))
    )
    question = GateQuestion(second, first, Thresholds(), "a cluster")
    return compute_verdict(prepared_of([*scenario["objects"], *scenario["pending"]], place="pending"), question).upgrade


def test_between_one_release_and_itself_there_is_no_upgrade() -> None:
    assert upgraded("balance", "1.36", "1.36") is None
    assert upgraded("driver-needed", "1.37", "1.37", VolumeLimitScaling=False) is not None


@pytest.mark.parametrize(
    ("change", "plugin", "by", "nodes"),
    [
        ("balance", "NodeResourcesBalancedAllocation", "score", ("b", "a")),
        ("images-of-volumes", "ImageLocality", "score", ("a", "b")),
        ("declared-features", "NodeDeclaredFeatures", "verdict", ("a", "b")),
        ("storage-capacity", "VolumeBinding", "score", ("a", "b")),
        ("driver-needed", "NodeVolumeLimits", "verdict", ("a", "b")),
        ("bind-mounts", "NodeDeclaredFeatures", "verdict", ("a", "")),
    ],
)
def test_a_pod_that_goes_elsewhere_has_its_plugin_and_sentence(
    change: str, plugin: str, by: str, nodes: tuple[str, str]
) -> None:
    report = upgraded(change, "1.35", "1.37")
    assert report is not None
    (group,) = report["pods"]
    assert (group["plugin"], group["by"], group["count"], group["following"]) == (plugin, by, 1, 0)
    assert (group["pods"][0]["before"], group["pods"][0]["after"]) == nodes
    assert change in group["changes"]
    assert CHANGE_BY_NAME[change].sentence in {change_row["sentence"] for change_row in report["changes"]}


@pytest.mark.parametrize(
    ("change", "removed", "new"),
    [
        ("nothing-to-deallocate", ["no new claims to deallocate"], []),
        (
            "where-room-is-made",
            [],
            ["preemption", "found a potential placement for pod on node …", "preempting victims"],
        ),
    ],
)
def test_messages_are_told_by_what_is_gone_and_what_is_new(change: str, removed: list[str], new: list[str]) -> None:
    report = upgraded(change, "1.36", "1.37")
    assert report is not None
    messages = [message_row for message_row in report["messages"] if change in message_row["changes"]]
    assert [(message_row["gone"], message_row["new"], message_row["count"]) for message_row in messages] == [
        (removed, new, 1)
    ]
    assert messages[0]["example"]["before"] != messages[0]["example"]["after"]


def test_messages_are_alike_where_counts_and_nodes_alone_differ() -> None:
    texts = [f"0/{count} nodes are available: {count} Insufficient cpu, 1 node(s) were off." for count in (4, 5)]
    assert split_clauses(texts[0]) == split_clauses(texts[1])
    assert "Insufficient cpu" in split_clauses(texts[0])


def test_fields_are_those_that_one_release_alone_knows_and_those_with_another_default() -> None:
    field_changes = {
        field_change.path: field_change for field_change in compare_fields(None, RELEASES["1.35"], RELEASES["1.37"])
    }
    assert field_changes["Plugins.podGroupPostFilter"].kind == NEW
    timeout = field_changes["profiles[default-scheduler].pluginConfig[DynamicResources].args.bindingTimeout"]
    assert (timeout.before, timeout.after) == (None, "10m0s")
    assert any(path.endswith("multiPoint.enabled (order)") for path in field_changes)
    back = {
        field_change.path: field_change for field_change in compare_fields(None, RELEASES["1.37"], RELEASES["1.35"])
    }
    assert back["Plugins.podGroupPostFilter"].kind == REMOVED
    assert field_changes.keys() == back.keys()
    assert compare_fields(None, RELEASES["1.36"], RELEASES["1.36"]) == []


def test_fields_of_a_configuration_that_one_release_refuses_are_those_of_the_schema_alone() -> None:
    refused = {**CONFIGURATION, "profiles": [{"plugins": {"podGroupPostFilter": {"enabled": []}}}]}
    field_changes = compare_fields(refused, RELEASES["1.36"], RELEASES["1.37"])
    assert field_changes
    assert {field_change.kind for field_change in field_changes} == {NEW}


def test_gates_are_those_whose_state_differs() -> None:
    gate_changes = {gate_change.name: gate_change for gate_change in compare_gates(RELEASES["1.35"], RELEASES["1.37"])}
    storage = gate_changes["StorageCapacityScoring"]
    assert storage.before is not None
    assert storage.after is not None
    assert (storage.before.default, storage.after.default) == (False, True)
    assert gate_changes["GangScheduling"].after is None
    assert compare_gates(RELEASES["1.36"], RELEASES["1.36"]) == []


def test_the_report_counts_what_the_comparison_counts() -> None:
    first, second = (GatePolicy("policy", None, get_release(name)) for name in ("1.35", "1.37"))
    verdict = compute_verdict(prepared_of(cluster(6, 20)), GateQuestion(second, first, Thresholds(), "a cluster"))
    assert verdict.upgrade is not None
    counts = verdict.judged.counts
    elsewhere = counts["moved"] + counts["newlyUnscheduled"] + counts["newlyScheduled"]
    assert sum(group_row["count"] for group_row in verdict.upgrade["pods"]) == elsewhere
    for group_row in verdict.upgrade["pods"]:
        follow = [pod["follows"] for pod in group_row["pods"]]
        assert (sum(follow), follow) == (group_row["following"], sorted(follow))


def test_an_upgrade_to_the_preview_has_its_changes() -> None:
    report = upgraded("spread-everything", "1.37", "1.38")
    assert report is not None
    (group,) = report["pods"]
    assert (group["plugin"], "spread-everything" in group["changes"]) == ("PodTopologySpread", True)
    assert (group["pods"][0]["before"], group["pods"][0]["after"]) == ("a", "b")
    assert {row["since"] for row in report["changes"]} == {"1.38"}


def test_the_demo_cluster_stays_as_it_is_in_the_preview() -> None:
    """None of its pods does what the two releases decide otherwise; fields and gates of the configuration change."""
    before, after = (GatePolicy("policy", None, RELEASES[release]) for release in ("1.37", "1.38"))
    prepared = prepared_of(demo.generate_cluster())
    report = compute_verdict(prepared, GateQuestion(after, before, Thresholds(), "the demo")).upgrade
    assert report is not None
    assert (report["to"], report["pods"], report["messages"]) == ("kube-scheduler 1.38.0-beta.0", [], [])
    assert "Plugins.placementFeasible" in {row["path"] for row in report["fields"]}
    assert "DRAFractionalCapacityRange" in {row["name"] for row in report["gates"]}
