"""Number of further gangs of pods that fit."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine import Snapshot
from kschedweb.engine.studies.capacity.capacity import fit_clones
from kschedweb.engine.studies.capacity.gangs import Gang, GangFit, fit_gangs
from kschedweb.engine.studies.capacity.shapes import PodShape, pod_shape
from tests.engine.gangs import BY_TOPOLOGY, configured
from tests.engine.studies.clusters import ZONE, node, pod, snapshot


def shape(cluster: Snapshot, cpu: int = 1, **more: Any) -> PodShape:
    return pod_shape(pod("worker", cpu=str(cpu), **more), cluster)


def fit_gangs_of(cluster: Snapshot, pods: int, cpu: int = 1, min_count: int = 0, key: str = "", **more: Any) -> GangFit:
    gang = Gang(shape(cluster, cpu), pods, min_count, key)
    return fit_gangs(cluster, configured(BY_TOPOLOGY if key else None), gang, **more)


@given(
    cores=st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc")), min_size=1, max_size=6),
    cpu=st.integers(1, 3),
    pods=st.integers(1, 4),
    by_zone=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_never_more_gangs_fit_than_their_pods_alone(
    cores: list[tuple[int, str]], cpu: int, pods: int, by_zone: bool
) -> None:
    cluster = snapshot([node(f"n{at}", zone, cpu=str(size)) for at, (size, zone) in enumerate(cores)])
    alone = fit_clones(cluster, configured(), shape(cluster, cpu))
    gang_fit = fit_gangs_of(cluster, pods, cpu, key=ZONE if by_zone else "")
    room = Counter[str]()
    for size, zone in cores:
        room[zone if by_zone else ""] += size // cpu
    assert gang_fit.count == sum(capacity_of_node // pods for capacity_of_node in room.values()) <= alone.count // pods
    assert gang_fit.exact
    assert (gang_fit.by_node <= alone.by_node).all()


@pytest.mark.parametrize(("nodes", "cpu", "cores_per_pod", "pods"), [(3, 8, 2, 4), (5, 7, 2, 8), (2, 4, 4, 3)])
def test_identical_nodes_are_a_matter_of_arithmetic(nodes: int, cpu: int, cores_per_pod: int, pods: int) -> None:
    cluster = snapshot([node(f"n{at}", cpu=str(cpu)) for at in range(nodes)])
    gang_fit = fit_gangs_of(cluster, pods, cores_per_pod)
    assert gang_fit.count == nodes * (cpu // cores_per_pod) // pods
    assert gang_fit.by_node.sum() == gang_fit.count * pods
    assert [sum(gang_fit.nodes_of(gang).values()) for gang in range(gang_fit.count)] == [pods] * gang_fit.count


def test_the_next_gang_is_told_by_its_first_pod_without_a_node() -> None:
    gang_fit = fit_gangs_of(snapshot(node("a", cpu="5"), node("b", cpu="2")), pods=4)
    assert (gang_fit.count, gang_fit.failed) == (1, False)
    assert gang_fit.message == "minCount (4) cannot be satisfied: 3 scheduled, 0 remaining"
    (result,) = gang_fit.results
    assert (result.name, result.nodes, result.placed, result.pod) == ("", 2, 3, "default/worker-more-8")
    assert result.message == "0/2 nodes are available: 2 Insufficient cpu."


def test_with_a_topology_key_each_gang_has_one_domain_and_each_domain_its_reason() -> None:
    cluster = snapshot(node("a", "east", cpu="3"), node("b", "east", cpu="3"), node("c", "west", cpu="3"))
    gang_fit = fit_gangs_of(cluster, pods=4, key=ZONE)
    assert (gang_fit.domains, set(gang_fit.nodes_of(0))) == (["east"], {"a", "b"})
    few = "minCount (4) cannot be satisfied: 2 scheduled, 1 remaining"
    first = "pod group is unschedulable, 0/2 placements are available, first placement status: "
    assert gang_fit.message == first + few
    assert [(domain.name, domain.nodes, domain.placed) for domain in gang_fit.results] == [
        ("east", 2, 2),
        ("west", 1, 3),
    ]
    assert all("Insufficient cpu" in domain.message for domain in gang_fit.results)


def test_without_a_node_of_the_topology_no_domain_is_tried() -> None:
    gang_fit = fit_gangs_of(snapshot(node("a")), pods=1, key="example.com/rack")
    assert (gang_fit.count, gang_fit.results) == (0, ())
    assert "no feasible placements found" in gang_fit.message


def test_pods_beyond_the_number_may_stay_behind() -> None:
    gang_fit = fit_gangs_of(snapshot(node("a", cpu="7")), pods=4, min_count=3)
    assert (gang_fit.count, gang_fit.by_node.tolist()) == (2, [7])
    assert gang_fit.nodes_of(1) == {"a": 3}


def test_gangs_have_the_priority_of_their_pods_and_a_group_of_their_own() -> None:
    important = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 7}
    cluster = snapshot(node("a"), important | {"metadata": {"name": "important"}})
    spec = {"priorityClassName": "important", "schedulingGroup": {"podGroupName": "old"}}
    gang_fit = fit_gangs(cluster, configured(), Gang(shape(cluster, spec=spec), 2))
    assert gang_fit.count == 2
    assert not cluster.pods.slots
    assert not cluster.objects.groups


def test_a_gated_pod_and_an_unknown_profile_are_said() -> None:
    cluster = snapshot(node("a"))
    gated = shape(cluster, spec={"schedulingGates": [{"name": "example.com/wait"}]})
    gated_fit = fit_gangs(cluster, configured(), Gang(gated, 2))
    assert (gated_fit.count, gated_fit.results, gated_fit.message) == (
        0,
        (),
        fit_clones(cluster, configured(), gated).message,
    )
    other = fit_gangs(cluster, configured(), Gang(shape(cluster, spec={"schedulerName": "other"}), 2))
    assert (other.count, other.message) == (0, 'profile not found for scheduler name "other"')


def test_a_profile_without_gang_scheduling_counts_no_part_of_a_gang() -> None:
    cluster = snapshot(node("a", cpu="3"))
    off = configured(plugins={"multiPoint": {"disabled": [{"name": "GangScheduling"}]}})
    gang_fit = fit_gangs(cluster, off, Gang(shape(cluster), 2))
    assert (gang_fit.count, gang_fit.results[0].placed) == (1, 1)
    assert gang_fit.message.startswith("too few of its pods found a node")


def test_counting_stops_at_the_limit_or_in_the_midst_of_a_gang() -> None:
    cluster = snapshot(node("a", cpu="9"))
    limited = fit_gangs_of(cluster, pods=2, limit=3)
    assert (limited.count, limited.exact, limited.stopped) == (3, False, False)
    stopped = fit_gangs_of(cluster, pods=2, check=lambda _gangs, pods: pods < 5)
    assert (stopped.count, stopped.exact, stopped.stopped) == (2, False, True)


def test_a_release_without_groups_and_too_large_a_number_are_refused() -> None:
    cluster = snapshot(node("a"))
    with pytest.raises(ValueError, match="does not schedule such gangs"):
        fit_gangs(cluster, configured({}), Gang(shape(cluster), 2))
    with pytest.raises(ValueError, match="does not schedule such gangs"):
        fit_gangs(cluster, configured(), Gang(shape(cluster), 2, topology_key=ZONE))
    with pytest.raises(ValueError, match="cannot wait for 3"):
        fit_gangs(cluster, configured(), Gang(shape(cluster), 2, min_members=3))
