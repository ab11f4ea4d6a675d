"""TopologyPlacementGenerator: the domains of a group's topology."""

from __future__ import annotations

from kschedweb.engine import Snapshot
from kschedweb.engine.framework.groups import Domain, GroupCycle
from kschedweb.engine.framework.status import Status
from kschedweb.engine.plugins.topologyplacementgenerator import TopologyPlacementGenerator
from tests.engine.builders import node
from tests.engine.gangs import group, member

NODES = [
    node("a", labels={"zone": "y"}),
    node("b", labels={"zone": "x"}),
    node("c", labels={"zone": "y"}),
    node("d"),
]


def domains(*objects: dict, topology: str = "zone") -> tuple[list[tuple[str, list[str]]], Status]:
    snapshot = Snapshot.from_objects([*NODES, group("gang", topology=topology), *objects])
    gang = snapshot.objects.groups.get("default/gang")
    assert gang is not None
    generated, status = TopologyPlacementGenerator({}).generate_placements(
        GroupCycle(snapshot, gang, []), Domain.all_nodes(snapshot)
    )
    return [(domain.name, [snapshot.names[place] for place in domain.nodes]) for domain in generated], status


def test_nodes_with_one_value_are_a_domain_and_those_without_are_in_none() -> None:
    assert domains()[0] == [("x", ["b"]), ("y", ["a", "c"])]


def test_without_topology_there_is_one_domain() -> None:
    assert domains(topology="")[0] == [("", ["a", "b", "c", "d"])]


def test_pods_that_have_a_node_leave_one_domain() -> None:
    assert domains(member("p", on="c"), member("q", on="a"))[0] == [("y", ["a", "c"])]


def test_pods_in_no_domain_or_in_several_are_an_error() -> None:
    error_start = "cannot determine domain for already scheduled pods: "
    assert domains(member("p", on="d"))[1].message == f"{error_start}no topology domain found for pod default/p"
    both = domains(member("p", on="a"), member("q", on="b"))[1].message
    assert both == f"{error_start}more than 1 domain found for pod group: y, x"
