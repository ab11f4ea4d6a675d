"""Pools that nodes see."""

from __future__ import annotations

from kschedweb.engine.allocation.features import DEFAULTS, Features
from kschedweb.engine.allocation.inventory import Inventory, get_inventory
from kschedweb.engine.allocation.node_contents import Contents
from kschedweb.engine.objects.resourceclaim import AllocatedDevice, Allocation
from kschedweb.engine.state.snapshot import Snapshot
from tests.engine.allocation.test_allocation_search import DRIVER, plain, pool
from tests.engine.builders import node

NODES = [node(name, labels={"disk": disk}) for name, disk in (("a", "ssd"), ("b", "ssd"), ("c", "hdd"))]
SSD = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]}


def list_pools(*slices: dict, features: Features = DEFAULTS) -> list[list[str]]:
    """The pools that each node sees, with ! where they are invalid and ? where they are incomplete."""
    snapshot = Snapshot.from_objects([*NODES, *slices])
    assert snapshot.problems == []
    inventory = Inventory(snapshot, features)
    signs = {(False, False): "", (True, False): "?", (False, True): "!"}
    return [
        [
            f"{device_pool.id[1]}{signs[device_pool.incomplete, device_pool.invalid]}"
            for device_pool in inventory.places[inventory.place_of[row]]
        ]
        for row in range(len(snapshot))
    ]


def part(raw: dict, number: int, **pool_fields: int) -> dict:
    """Another slice of the pool of ``raw``."""
    spec = raw["spec"] | {"pool": raw["spec"]["pool"] | pool_fields}
    return raw | {"metadata": {"name": f"{raw['metadata']['name']}-{number}"}, "spec": spec}


def test_a_pool_is_for_one_node_for_all_or_for_those_that_match() -> None:
    slices = [pool("own", plain(1), nodeName="c"), pool("all", plain(1), allNodes=True)]
    slices.append(pool("ssd", plain(1), nodeSelector=SSD))
    assert list_pools(*slices) == [["all", "ssd"], ["all", "ssd"], ["all", "own"]]


def test_devices_can_have_nodes_of_their_own() -> None:
    devices: list[dict] = [{"name": "x", "nodeName": "a"}, {"name": "y", "nodeSelector": SSD}]
    slices = [pool("p", devices, perDeviceNodeSelection=True)]
    assert list_pools(*slices) == [["p"], ["p"], []]
    assert list_pools(*slices, features=Features(partitionable=False)) == [[], [], []]


def test_the_newest_generation_counts() -> None:
    old, new = pool("p", plain(1), nodeName="a"), pool("p", plain(1), nodeName="b")
    assert list_pools(old, part(new, 2, generation=2)) == [["p"], ["p"], []]  # each is complete by itself
    assert list_pools(old, part(old, 2, generation=2)) == [["p"], [], []]
    # Where slices are missing, a newer generation elsewhere makes the older one void.
    assert list_pools(part(old, 1, resourceSliceCount=2), part(new, 2, generation=2)) == [[], ["p"], []]


def test_pools_that_lack_slices_or_contradict_themselves_are_marked() -> None:
    assert list_pools(pool("p", plain(1), nodeName="a", count=2)) == [["p?"], [], []]
    assert list_pools(pool("p", plain(1) * 2, nodeName="a")) == [["p!"], [], []]
    uncounted = plain(1, consumesCounters=[{"counterSet": "none", "counters": {"m": {"value": "1"}}}])
    assert list_pools(pool("p", uncounted, nodeName="a")) == [["p!"], [], []]


def test_shared_counters_make_no_pool_where_there_is_no_device() -> None:
    counters = pool("p", [], nodeName="a", count=2)
    counters["spec"]["sharedCounters"] = [{"name": "s", "counters": {"m": {"value": "1"}}}]
    counted = plain(1, consumesCounters=[{"counterSet": "s", "counters": {"m": {"value": "1"}}}])
    assert list_pools(counters, part(pool("p", counted, nodeName="a", count=2), 1)) == [["p"], [], []]


def test_a_selector_that_cannot_be_parsed_is_named() -> None:
    wrong = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Odd"}]}]}
    snapshot = Snapshot.from_objects([*NODES, pool("p", plain(1), nodeSelector=wrong)])
    assert Inventory(snapshot, DEFAULTS).problem == "slice-p"


def test_it_is_made_again_when_slices_change() -> None:
    snapshot = Snapshot.from_objects([*NODES, pool("p", plain(1), nodeName="a")])
    first = get_inventory(snapshot, DEFAULTS)
    assert get_inventory(snapshot, DEFAULTS) is first
    snapshot.objects.add(pool("q", plain(1), nodeName="b"))
    assert get_inventory(snapshot, DEFAULTS) is not first


def test_nodes_are_alike_while_the_same_of_them_is_in_use() -> None:
    slices = [pool(name, plain(2), nodeName=name) for name in ("a", "b", "c")]
    snapshot = Snapshot.from_objects([*NODES, *slices])
    use = snapshot.resource_claims.device_use
    contents = Contents(get_inventory(snapshot, DEFAULTS), use)
    assert len(set(contents.codes.tolist())) == 1
    allocation = Allocation(devices=(AllocatedDevice("r", (DRIVER, "a", "dev01")),))
    use.add_allocation(allocation)
    contents.follow(use)
    assert contents.codes[0] != contents.codes[1] == contents.codes[2]
    use.remove_allocation(allocation)
    contents.follow(use)
    assert len(set(contents.codes.tolist())) == 1
