"""VolumeRestrictions: a disk, or a claim for one pod at a time, that another pod has."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.framework.events import (
    VOLUME_CLAIM,
    Action,
    ClusterEvent,
)
from tests.engine.builders import NEVER, NOT_NOW, explain, list_refusals, node, pod
from tests.engine.storage import (
    claim,
    user,
    volume,
)
from tests.engine.waking import raw_object, wakes, wakes_on_node_add, wakes_on_pod_delete

NAME = "VolumeRestrictions"
DISK = (NOT_NOW, "node(s) had no available disk")
CLAIM = (
    NOT_NOW,
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
)


def mounting(name: str, on: str = "", **source: Any) -> dict:
    return pod(name, on=on, volumes=[{"name": "v", **source}])


def rbd(*monitors: str, pool: str = "rbd", image: str = "i", read_only: bool = False) -> dict:
    return {"rbd": {"monitors": list(monitors), "pool": pool, "image": image, "readOnly": read_only}}


def gce(name: str, read_only: bool = False) -> dict:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def ebs(identity: str, read_only: bool = False) -> dict:
    return {"awsElasticBlockStore": {"volumeID": identity, "readOnly": read_only}}


def iscsi(iqn: str, read_only: bool = False) -> dict:
    return {"iscsi": {"targetPortal": "10.0.0.1", "iqn": iqn, "lun": 0, "readOnly": read_only}}


@pytest.mark.parametrize(
    ("mine", "theirs", "shared"),
    [
        (gce("x"), gce("x"), False),
        (gce("x", read_only=True), gce("x"), False),
        (gce("x", read_only=True), gce("x", read_only=True), True),
        (gce("x"), gce("y"), True),
        (ebs("x", read_only=True), ebs("x", read_only=True), False),
        (ebs("x"), ebs("y"), True),
        (iscsi("x"), iscsi("x"), False),
        (iscsi("x", read_only=True), iscsi("x", read_only=True), True),
        (rbd("m", "n"), rbd("n", "o"), False),
        (rbd("m"), rbd("n"), True),
        (rbd("m"), rbd("m", pool="p"), True),
        (rbd("m"), rbd("m", image="j"), True),
        (rbd("m", read_only=True), rbd("m", read_only=True), True),
    ],
)
def test_a_disk_is_one_pods_unless_all_of_them_only_read(mine: dict, theirs: dict, shared: bool) -> None:
    answer = explain(mounting("p", **mine), node("a"), node("b"), mounting("q", "a", **theirs))
    assert list_refusals(answer, NAME) == ({} if shared else {"a": DISK})
    # It wakes by leaving where it was in the way.
    assert wakes_on_pod_delete(NAME, mounting("p", **mine), mounting("q", "a", **theirs)) is not shared


def test_a_claim_for_one_pod_is_taken_on_every_node() -> None:
    once: dict[str, Any] = {"accessModes": ["ReadWriteOncePod"]}
    objects = [node("a"), node("b"), volume("v", **once), claim("c", volume="v", **once)]
    assert list_refusals(explain(user("p", "c"), *objects), NAME) == {}
    assert list_refusals(explain(user("p", "c"), *objects, user("q", "c", on="a")), NAME) == {"a": CLAIM, "b": CLAIM}
    elsewhere = user("q", "c", on="a")
    elsewhere["metadata"]["namespace"] = "other"
    assert list_refusals(explain(user("p", "c"), *objects, elsewhere), NAME) == {}
    shared = [*objects[:2], volume("v"), claim("c", volume="v")]
    assert list_refusals(explain(user("p", "c"), *shared, user("q", "c", on="a")), NAME) == {}


def test_a_claim_that_does_not_exist_refuses_the_pod() -> None:
    answer = explain(user("p", "c"), node("a"))
    assert answer["preFilter"] == {
        "plugin": NAME,
        "code": NEVER,
        "reasons": ['persistentvolumeclaim "c" not found'],
    }


def test_its_claims_wake_by_coming_or_by_being_left() -> None:
    added = ClusterEvent(VOLUME_CLAIM, Action.ADD)
    assert wakes(NAME, user("p", "c"), added, None, raw_object("c"))
    assert not wakes(NAME, user("p", "c"), added, None, raw_object("d"))
    assert not wakes(NAME, user("p", "c"), added, None, raw_object("c", "elsewhere"))
    assert wakes_on_pod_delete(NAME, user("p", "c"), user("q", "c", on="a"))
    assert not wakes_on_pod_delete(NAME, user("p", "c"), user("q", "d", on="a"))
    assert wakes_on_node_add(NAME, user("p", "c"), node("n"))
