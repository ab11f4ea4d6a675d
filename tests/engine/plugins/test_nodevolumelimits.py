"""NodeVolumeLimits: how many volumes of a CSI driver a node can attach."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine import Pod
from kschedweb.engine.framework.events import (
    ATTACHMENT,
    CSI_NODE,
    VOLUME_CLAIM,
    Action,
    ClusterEvent,
)
from tests.engine.builders import NOT_NOW, explain, list_refusals, node, pod, scheduler
from tests.engine.storage import (
    DRIVER,
    EBS,
    claim,
    csi,
    csi_node,
    make_object,
    storage_class,
    user,
    volume,
)
from tests.engine.waking import raw_object, wakes, wakes_on_pod_delete

NAME = "NodeVolumeLimits"
TOO_MANY = "node(s) exceed max volume count"
LIMITED, FREE = csi_node("a", csi_example_com=2), node("b")


def bound(*names: str, driver: str = DRIVER) -> list[dict]:
    """Claims ``c-<name>`` with volumes of ``driver``."""
    return [item for name in names for item in (volume(name, csi=csi(name, driver)), claim(f"c-{name}", volume=name))]


def test_a_node_takes_as_many_volumes_as_its_driver_attaches() -> None:
    objects = [node("a"), FREE, LIMITED, *bound("u", "v", "w")]
    assert list_refusals(explain(user("p", "c-u", "c-v"), *objects), NAME) == {}
    assert list_refusals(explain(user("p", "c-u", "c-v", "c-w"), *objects), NAME) == {"a": (NOT_NOW, TOO_MANY)}
    placed = user("q", "c-u", "c-v", on="a")
    assert list_refusals(explain(user("p", "c-w"), *objects, placed), NAME) == {"a": (NOT_NOW, TOO_MANY)}
    # Pods share the volumes they have in common.
    assert list_refusals(explain(user("p", "c-u", "c-v"), *objects, placed), NAME) == {}


def test_each_driver_has_its_own_limit() -> None:
    objects = [node("a"), LIMITED, *bound("u", "v"), *bound("x", driver="other.example.com")]
    assert list_refusals(explain(user("p", "c-x"), *objects, user("q", "c-u", "c-v", on="a")), NAME) == {}
    assert list_refusals(explain(user("p", "c-x", "c-v"), *objects, user("q", "c-u", on="a")), NAME) == {}


def test_a_volume_still_to_be_made_counts_for_its_class() -> None:
    driver_node = csi_node("a", csi_example_com=1)
    objects = [node("a"), driver_node, storage_class(provisioner=DRIVER), claim("c"), *bound("u")]
    assert list_refusals(explain(user("p", "c"), *objects), NAME) == {}
    assert list_refusals(explain(user("p", "c"), *objects, user("q", "c-u", on="a")), NAME) == {
        "a": (NOT_NOW, TOO_MANY)
    }


def test_an_old_disk_counts_for_the_driver_that_took_it_over() -> None:
    migrated = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
    driver_node = csi_node("a", migrated, ebs_csi_aws_com=1)

    def mounting(name: str, identity: str, on: str = "") -> dict:
        return pod(name, on=on, volumes=[{"name": "v", "awsElasticBlockStore": {"volumeID": identity}}])

    objects = [node("a"), driver_node, mounting("q", "vol-1", on="a")]
    assert list_refusals(explain(mounting("p", "vol-2"), *objects), NAME) == {"a": (NOT_NOW, TOO_MANY)}
    assert list_refusals(explain(mounting("p", "vol-2"), node("a"), objects[2]), NAME) == {}


def test_an_attachment_of_a_volume_in_use_is_not_counted_twice() -> None:
    objects = [node("a"), csi_node("a", csi_example_com=2)]
    for name in ("v", "w"):
        objects += [volume(name, csi=csi(name)), claim(f"c-{name}", volume=name)]
    spec = {"attacher": DRIVER, "nodeName": "a", "source": {"persistentVolumeName": "v"}}
    objects += [make_object("VolumeAttachment", "x", version="storage.k8s.io/v1", spec=spec), user("q", "c-v", on="a")]
    assert explain(user("p", "c-w"), *objects)["feasible"] == ["a"]
    assert explain(user("p", "c-v", "c-w"), *objects)["feasible"] == ["a"]
    # Without a pod that uses it, the attachment counts beside the same volume of the new pod.
    assert list_refusals(explain(user("p", "c-v", "c-w"), *objects[:-1]), NAME) == {"a": (NOT_NOW, TOO_MANY)}


def test_limits_and_claims_for_one_pod_count_pods_as_they_come_and_go() -> None:
    objects = [node("a"), csi_node("a", csi_example_com=1)]
    for name in ("v", "w"):
        once: dict[str, Any] = {"accessModes": ["ReadWriteOncePod"]}
        objects += [volume(name, csi=csi(name)), claim(f"c-{name}", volume=name, **once)]
    engine = scheduler(*objects)
    first, second = Pod.from_json(user("p", "c-v")), Pod.from_json(user("q", "c-w"))
    engine.schedule_pods([first])
    assert engine.explain(second).message == f"0/1 nodes are available: 1 {TOO_MANY}."
    assert "ReadWriteOncePod" in engine.explain(Pod.from_json(user("r", "c-v"))).message
    assert engine.explain(engine.snapshot.get_pod("default/p")).message == ""
    assert engine.explain(second).message == f"0/1 nodes are available: 1 {TOO_MANY}."
    engine.snapshot.remove_pod("default/p")
    assert engine.explain(second).message == ""


def detached(driver: str) -> dict:
    return raw_object(spec={"attacher": driver})


def test_a_higher_limit_wakes() -> None:
    added, updated = ClusterEvent(CSI_NODE, Action.ADD), ClusterEvent(CSI_NODE, Action.UPDATE)
    assert wakes(NAME, user("p", "c"), added, None, csi_node("n", d=1))
    assert wakes(NAME, user("p", "c"), updated, csi_node("n", d=1), csi_node("n", d=2))
    assert not wakes(NAME, user("p", "c"), updated, csi_node("n", d=2), csi_node("n", d=1))


def test_a_volume_that_leaves_wakes() -> None:
    assert wakes_on_pod_delete(NAME, user("p", "c"), user("q", "d", on="a"))
    assert not wakes_on_pod_delete(NAME, user("p", "c"), pod("q", on="a"))
    detachment = ClusterEvent(ATTACHMENT, Action.DELETE)
    assert wakes(NAME, user("p", "c"), detachment, detached(DRIVER), None)
    disk = pod("p", volumes=[{"name": "v", "awsElasticBlockStore": {"volumeID": "x"}}])
    assert wakes(NAME, disk, detachment, detached(EBS), None)
    assert not wakes(NAME, disk, detachment, detached(DRIVER), None)


def test_a_claim_of_its_own_wakes() -> None:
    assert wakes(NAME, user("p", "c"), ClusterEvent(VOLUME_CLAIM, Action.ADD), None, raw_object("c"))
    assert not wakes(NAME, user("p", "c"), ClusterEvent(VOLUME_CLAIM, Action.ADD), None, raw_object("d"))
    assert not wakes(NAME, user("p", "c"), ClusterEvent(VOLUME_CLAIM, Action.UPDATE), raw_object("c"), raw_object("c"))


@settings(max_examples=40)
@given(st.integers(1, 4), st.sets(st.sampled_from("uvwxy")), st.sets(st.sampled_from("uvwxy"), min_size=1))
def test_a_node_is_full_where_distinct_volumes_exceed_its_limit(
    limit: int, used: set[str], wanted_volumes: set[str]
) -> None:
    objects = [node("a"), csi_node("a", csi_example_com=limit), *bound(*"uvwxy")]
    placed = user("q", *(f"c-{name}" for name in sorted(used)), on="a")
    answer = explain(user("p", *(f"c-{name}" for name in sorted(wanted_volumes))), *objects, placed)
    full = bool(wanted_volumes - used) and len(used | wanted_volumes) > limit
    assert list_refusals(answer, NAME) == ({"a": (NOT_NOW, TOO_MANY)} if full else {})
