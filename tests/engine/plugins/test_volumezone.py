"""VolumeZone: a volume's labels say in which zones and regions it can be used."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.framework.events import (
    STORAGE_CLASS,
    VOLUME,
    VOLUME_CLAIM,
    Action,
    ClusterEvent,
)
from tests.engine.builders import NEVER, explain, list_refusals, node, pod
from tests.engine.storage import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    claim,
    storage_class,
    user,
    volume,
)
from tests.engine.waking import raw_object, wakes, wakes_on_node_add, wakes_on_node_update

NAME = "VolumeZone"
REFUSED = (NEVER, "node(s) had no available volume zone")


def bound(**labels: str) -> list[dict]:
    """A claim ``c`` and its volume with these zone and region labels."""
    keys = {"zone": ZONE, "region": REGION, "beta_zone": BETA_ZONE, "beta_region": BETA_REGION}
    metadata = {"labels": {keys[name]: value for name, value in labels.items()}}
    return [claim("c", volume="v"), volume("v", metadata=metadata)]


def refusals(nodes: list[dict], *objects: dict) -> dict[str, tuple[str, ...]]:
    return list_refusals(explain(user("p", "c"), *nodes, *objects), NAME)


NODES = [node("a", labels={ZONE: "za", REGION: "r"}), node("b", labels={ZONE: "zb", REGION: "r"}), node("none")]


def test_a_node_outside_the_volumes_zone_is_refused_and_one_in_no_zone_is_not() -> None:
    assert refusals(NODES, *bound(zone="za")) == {"b": REFUSED}
    assert refusals(NODES, *bound(beta_zone="za")) == {"b": REFUSED}
    assert refusals(NODES, *bound(region="r")) == {}
    assert refusals(NODES, *bound(zone="za", region="s")) == {"a": REFUSED, "b": REFUSED}


def test_a_label_lists_zones_and_says_nothing_with_an_empty_one_among_them() -> None:
    assert refusals(NODES, *bound(zone="za__zb")) == {}
    assert refusals(NODES, *bound(zone="za__zc")) == {"b": REFUSED}
    assert refusals(NODES, *bound(zone="za__")) == {}


def test_an_old_zone_label_of_a_node_counts_before_its_new_one() -> None:
    bound = [claim("c", volume="v"), volume("v", metadata={"labels": {BETA_ZONE: "za__zb"}})]
    nodes = [node("a", labels={BETA_ZONE: "zc", ZONE: "za"}), node("b", labels={ZONE: "zb"}), node("none")]
    answer = explain(user("p", "c"), *nodes, *bound)
    assert list_refusals(answer, NAME) == {"a": REFUSED}


def test_a_volume_that_cannot_be_told_refuses_the_pod() -> None:
    def words(*objects: dict) -> str:
        off = {"plugins": {"preFilter": {"disabled": [{"name": "VolumeBinding"}]}}}
        answer = explain(user("p", "c"), node("a"), *objects, **off)
        assert answer["preFilter"]["plugin"] == NAME
        assert answer["preFilter"]["code"] == NEVER
        return ", ".join(answer["preFilter"]["reasons"])

    assert words(claim("c", volume="v")) == 'persistentvolume "v" not found'
    assert words(claim("c", storageClassName="")) == "PersistentVolumeClaim had no pv name and storageClass name"
    assert words(claim("c")) == 'storageclass.storage.k8s.io "local" not found'
    assert words(claim("c"), storage_class(volumeBindingMode="Immediate")) == "PersistentVolume had no name"
    unsaid = storage_class(volumeBindingMode=None)
    assert words(claim("c"), unsaid) == 'VolumeBindingMode not set for StorageClass "local"'


CLAIMED, EPHEMERAL = user("p", "c"), pod("p", volumes=[{"name": "v", "ephemeral": {}}])


def test_a_node_wakes_and_so_does_its_label() -> None:
    assert wakes_on_node_add(NAME, CLAIMED, node("n"))
    assert wakes_on_node_update(NAME, CLAIMED, node("n"), node("n", labels={ZONE: "za"}))
    assert not wakes_on_node_update(NAME, CLAIMED, node("n"), node("n", allocatable={"cpu": "9"}))


def test_its_claims_volumes_and_classes_that_wait_wake() -> None:
    added, updated = ClusterEvent(VOLUME, Action.ADD), ClusterEvent(VOLUME, Action.UPDATE)
    assert wakes(NAME, CLAIMED, added, None, raw_object())
    assert wakes(NAME, CLAIMED, updated, raw_object(), raw_object(metadata={"labels": {ZONE: "y"}}))
    assert not wakes(NAME, CLAIMED, updated, raw_object(), raw_object(metadata={"labels": {"x": "y"}}))
    changed = ClusterEvent(VOLUME_CLAIM, Action.UPDATE)
    assert wakes(NAME, CLAIMED, changed, raw_object("c"), raw_object("c"))
    assert not wakes(NAME, CLAIMED, changed, raw_object("d"), raw_object("d"))
    assert not wakes(NAME, EPHEMERAL, changed, raw_object("p-v"), raw_object("p-v"))
    added = ClusterEvent(STORAGE_CLASS, Action.ADD)
    assert wakes(NAME, CLAIMED, added, None, storage_class())
    assert not wakes(NAME, CLAIMED, added, None, storage_class(volumeBindingMode="Immediate"))


@settings(max_examples=40)
@given(st.sets(st.sampled_from("abc"), min_size=1), st.sampled_from("abc"), st.booleans(), st.booleans())
def test_a_zone_is_allowed_exactly_where_the_label_lists_it(
    allowed: set[str], zone: str, beta_volume: bool, beta_node: bool
) -> None:
    listed = "__".join(sorted(allowed))
    objects = bound(**{"beta_zone" if beta_volume else "zone": listed})
    zone_node = node("n", labels={BETA_ZONE if beta_node else ZONE: zone})
    # A node's new label stands for the old one, and not the other way round.
    fits = zone in allowed and (beta_volume or not beta_node)
    assert refusals([zone_node], *objects) == ({} if fits else {"n": REFUSED})
