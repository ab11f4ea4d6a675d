"""PodGroups are read in one form; others are refused by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.podgroup import COMPOSITE, PodGroup
from kschedweb.engine.state.podgroups import PodGroups
from tests.engine.builders import pod
from tests.engine.gangs import composite, group, member, part, read_group


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


def test_a_composite_group_says_how_many_groups_it_needs() -> None:
    root, basic = (PodGroup.from_json(raw) for raw in (composite("root", 3), composite("loose", None, parent="root")))
    assert (root.entity, root.key, root.min_placed) == ("compositepodgroup/default/root", "default/root", 3)
    assert (root.parent, root.is_composite, root.is_basic) == ("", True, False)
    assert (basic.parent, basic.min_placed, basic.is_basic) == ("default/root", 1, True)
    condition = {"type": "CompositePodGroupInitiallyScheduled", "status": "True"}
    assert PodGroup.from_json({**composite("root"), "status": {"conditions": [condition]}}).scheduled
    assert not PodGroup.from_json({**group("gang"), "status": {"conditions": [condition]}}).scheduled


def test_what_is_not_simulated_is_refused_by_name() -> None:
    gate = r"spec.resourceClaims: is not simulated \(feature gate DRAWorkloadResourceClaims\)"
    with pytest.raises(ObjectError, match=gate):
        read_group("gang", resourceClaims="x")


@pytest.mark.parametrize(
    ("kind", "api", "expected_error"),
    [
        ("PodGroup", "scheduling.k8s.io/v1alpha2", "is of scheduling.k8s.io/v1alpha2, which is not simulated"),
        ("Workload", "scheduling.k8s.io/v1alpha1", "is of scheduling.k8s.io/v1alpha1, which is not simulated"),
        ("CompositePodGroup", "scheduling.k8s.io/v1alpha3", "is of scheduling.k8s.io/v1alpha3, which is not simulated"),
    ],
)
def test_earlier_forms_are_refused_by_name(kind: str, api: str, expected_error: str) -> None:
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


# The trees that groups form.


def read_groups(*raws: dict) -> PodGroups:
    snapshot = Snapshot.from_objects(raws)
    assert not snapshot.problems
    return snapshot.objects.groups


def get_composite(groups: PodGroups, name: str) -> PodGroup:
    group_of_groups = groups.get(f"default/{name}", COMPOSITE)
    assert group_of_groups is not None
    return group_of_groups


def test_a_tree_has_a_root_once_all_groups_up_to_it_are_there() -> None:
    groups = read_groups(composite("root"), part("leaf", "middle"))
    assert groups.find_root("default/leaf") is None
    groups.put_group(PodGroup.from_json(composite("middle", parent="root")))
    assert groups.find_root("default/leaf") is get_composite(groups, "root")
    groups.remove_group("default/root", COMPOSITE)
    assert groups.find_root("default/leaf") is None


def test_groups_that_name_each_other_have_no_root() -> None:
    groups = read_groups(composite("one", parent="two"), composite("two", parent="one"), part("leaf", "one"))
    assert groups.find_root("default/leaf") is None


def test_a_group_of_pods_may_have_the_name_of_a_composite_one() -> None:
    groups = read_groups(composite("same"), part("same", "same"))
    assert groups.find_root("default/same") is get_composite(groups, "same")
    assert [leaf.entity for leaf in groups.list_leaves(get_composite(groups, "same"))] == ["podgroup/default/same"]


def test_groups_are_tried_by_age_then_by_name() -> None:
    def aged(raw: dict, created: str) -> dict:
        return {**raw, "metadata": {**raw["metadata"], "creationTimestamp": created}}

    groups = read_groups(
        composite("root"),
        aged(part("a"), "2026-01-01T00:00:02Z"),
        aged(part("c"), "2026-01-01T00:00:01Z"),
        aged(part("b"), "2026-01-01T00:00:01Z"),
    )
    assert [child.name for child in groups.list_children(get_composite(groups, "root"))] == ["b", "c", "a"]


def test_a_replaced_group_moves_to_its_new_parent() -> None:
    groups = read_groups(composite("root"), composite("other"), part("leaf"))
    groups.put_group(PodGroup.from_json(part("leaf", "other")))
    assert groups.list_children(get_composite(groups, "root")) == []
    assert [child.name for child in groups.list_children(get_composite(groups, "other"))] == ["leaf"]


def test_a_copy_keeps_its_tree() -> None:
    groups = read_groups(composite("root"), part("leaf"))
    copy = groups.copy()
    groups.remove_group("default/leaf")
    assert [leaf.name for leaf in copy.list_leaves(get_composite(copy, "root"))] == ["leaf"]


@given(
    needed=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    there=st.lists(st.integers(0, 3), min_size=4, max_size=4),
    at_least=st.integers(1, 4),
)
def test_a_tree_is_ready_once_enough_of_its_groups_are(needed: list[int], there: list[int], at_least: int) -> None:
    pairs = list(zip(needed, there, strict=False))
    raws = [part(f"g{number}", "root", count) for number, (count, _) in enumerate(pairs)]
    pods = [member(f"g{number}-{index}", f"g{number}") for number, (_, has) in enumerate(pairs) for index in range(has)]
    groups = read_groups(composite("root", at_least), *raws, *pods)
    ready = sum(has >= count for count, has in pairs)
    assert groups.is_ready(get_composite(groups, "root")) == (ready >= at_least)
