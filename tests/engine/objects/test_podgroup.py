"""PodGroups are read in one form; others are refused by name."""

from __future__ import annotations

import pytest

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.podgroup import PodGroup
from tests.engine.builders import pod
from tests.engine.gangs import group, member, read_group


def test_a_gang_says_how_many_pods_it_needs() -> None:
    gang = read_group("gang", 3, priority=7, topology="zone", whole=True)
    assert (gang.key, gang.min_count, gang.min_placed, gang.priority) == ("default/gang", 3, 3, 7)
    assert (gang.topology_key, gang.disrupted_whole, gang.scheduled) == ("zone", True, False)


def test_a_group_that_is_no_gang_needs_one_pod() -> None:
    basic = read_group("loose", None)
    assert (basic.min_count, basic.min_placed, basic.priority, basic.topology_key) == (None, 1, 0, "")
    assert not basic.disrupted_whole


def test_a_group_that_was_placed_once_says_so_in_its_status() -> None:
    condition = {"type": "PodGroupInitiallyScheduled", "status": "True"}
    assert PodGroup.from_json({**group("gang"), "status": {"conditions": [condition]}}).scheduled
    assert not PodGroup.from_json(
        {**group("gang"), "status": {"conditions": [{**condition, "status": "False"}]}}
    ).scheduled


@pytest.mark.parametrize(
    ("field", "gate"),
    [
        ("parentCompositePodGroupName", "CompositePodGroup"),
        ("resourceClaims", "DRAWorkloadResourceClaims"),
    ],
)
def test_what_is_not_simulated_is_refused_by_name(field: str, gate: str) -> None:
    with pytest.raises(ObjectError, match=rf"spec.{field}: is not simulated \(feature gate {gate}\)"):
        read_group("gang", **{field: "x"})


@pytest.mark.parametrize(
    ("kind", "api", "expected_error"),
    [
        ("PodGroup", "scheduling.k8s.io/v1alpha2", "is of scheduling.k8s.io/v1alpha2, which is not simulated"),
        ("Workload", "scheduling.k8s.io/v1alpha1", "is of scheduling.k8s.io/v1alpha1, which is not simulated"),
        ("CompositePodGroup", "scheduling.k8s.io/v1alpha3", "groups of groups are not simulated"),
    ],
)
def test_earlier_forms_and_groups_of_groups_are_refused_by_name(kind: str, api: str, expected_error: str) -> None:
    snapshot = Snapshot.from_objects([{**group("gang"), "kind": kind, "apiVersion": api}])
    assert [name for name, _ in snapshot.problems] == [f"{kind} default/gang"]
    assert snapshot.problems[0][1].startswith(expected_error)
    assert snapshot.objects.groups.get("default/gang") is None


@pytest.mark.parametrize("api", ["scheduling.volcano.sh/v1beta1", "scheduling.x-k8s.io/v1alpha1"])
def test_groups_of_other_projects_are_none_of_ours(api: str) -> None:
    snapshot = Snapshot.from_objects([{**group("gang"), "apiVersion": api, "spec": {"minMember": 3}}])
    assert not snapshot.problems
    assert snapshot.objects.groups.get("default/gang") is None


def test_a_workload_of_the_same_form_is_taken_in_and_not_read() -> None:
    snapshot = Snapshot.from_objects([{**group("jobs"), "kind": "Workload"}])
    assert not snapshot.problems
    assert snapshot.objects.groups.get("default/jobs") is None


def test_a_pod_names_its_group_and_may_differ_from_its_like_in_that_alone() -> None:
    first, other, alone = (
        Pod.from_json(member("p", "one")),
        Pod.from_json(member("p", "other")),
        Pod.from_json(pod("p")),
    )
    assert (first.scheduling_group, other.scheduling_group, alone.scheduling_group) == (
        "default/one",
        "default/other",
        "",
    )
    assert first.template == other.template


def test_the_cluster_knows_the_pods_of_a_group_and_forgets_the_group() -> None:
    snapshot = Snapshot.from_objects([group("gang"), member("p"), member("q")])
    groups = snapshot.objects.groups
    assert groups.member_count("default/gang") == 2
    copy = groups.copy()
    groups.remove_member(snapshot.pending[0])
    assert (groups.member_count("default/gang"), copy.member_count("default/gang")) == (1, 2)
    snapshot.objects.remove("PodGroup", "default", "gang")
    assert groups.group_of(snapshot.pending[1]) is None
    assert copy.group_of(snapshot.pending[1]) is not None


@pytest.mark.parametrize(
    ("spec", "expected_error"),
    [
        ({"schedulingPolicy": {"gang": 3}}, "spec.schedulingPolicy.gang: must be an object, is a number"),
        ({"schedulingPolicy": {"gang": {"minCount": "3"}}}, "spec.schedulingPolicy.gang.minCount: must be "),
        ({"schedulingConstraints": {"topology": ["zone"]}}, r"spec.schedulingConstraints.topology\[0\]: must be "),
        ({"disruptionMode": "All"}, "spec.disruptionMode: must be an object"),
        ({"priority": 1.5}, "spec.priority: must be "),
    ],
)
def test_what_cannot_be_read_is_an_error_at_its_field(spec: dict, expected_error: str) -> None:
    with pytest.raises(ObjectError, match=expected_error):
        read_group("gang", **spec)


def test_a_pod_whose_group_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ObjectError, match=r"spec.schedulingGroup: must be an object"):
        Pod.from_json(pod("p", schedulingGroup="gang"))
