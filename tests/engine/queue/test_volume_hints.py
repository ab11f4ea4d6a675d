"""Which change of storage may help which pod that a plugin rejected."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.framework.events import (
    ATTACHMENT,
    CSI_DRIVER,
    CSI_NODE,
    STORAGE_CAPACITY,
    STORAGE_CLASS,
    VOLUME,
    VOLUME_CLAIM,
    Action,
    ClusterEvent,
)
from kschedweb.engine.objects.node import ZONE
from tests.engine.builders import pod
from tests.engine.queue.test_hints import bound, gone, wakes

Json = dict[str, Any]


def raw_object(name: str = "c", namespace: str = "default", **fields: Any) -> Json:
    return {"metadata": {"name": name, "namespace": namespace, **fields.pop("metadata", {})}, **fields}


def claimed(name: str = "c") -> list[Json]:
    return volume(persistentVolumeClaim={"claimName": name})


def volume(**source: Any) -> list[Json]:
    return [{"name": "v", **source}]


ADD, UPDATE, DELETE = Action.ADD, Action.UPDATE, Action.DELETE
WAIT = {"volumeBindingMode": "WaitForFirstConsumer"}


def of_volume(
    plugin: str, volumes: list[Json], resource: str, action: Action, old: Json | None, new: Json | None
) -> bool:
    return wakes(plugin, pod("p", volumes=volumes), ClusterEvent(resource, action), old, new)


def limits(count: int) -> Json:
    return raw_object("n", spec={"drivers": [{"name": "d", "nodeID": "n", "allocatable": {"count": count}}]})


def capacity(size: str | None) -> Json:
    return raw_object(**({} if size is None else {"capacity": size}), storageClassName="s")


def driver(reports: bool) -> Json:
    return raw_object("d", spec={"storageCapacity": reports})


EBS = "ebs.csi.aws.com"


def ebs(identity: str) -> list[Json]:
    return volume(awsElasticBlockStore={"volumeID": identity})


@pytest.mark.parametrize(
    ("expected", "plugin", "volumes", "resource", "action", "old", "new"),
    [
        (True, "VolumeBinding", claimed(), VOLUME_CLAIM, ADD, None, raw_object("c")),
        (True, "VolumeBinding", claimed(), VOLUME_CLAIM, UPDATE, raw_object("c"), raw_object("c")),
        (False, "VolumeBinding", claimed(), VOLUME_CLAIM, ADD, None, raw_object("d")),
        (False, "VolumeBinding", claimed(), VOLUME_CLAIM, ADD, None, raw_object("c", "elsewhere")),
        (True, "VolumeBinding", volume(ephemeral={}), VOLUME_CLAIM, ADD, None, raw_object("p-v")),
        (True, "VolumeBinding", claimed(), VOLUME, UPDATE, raw_object(), raw_object()),
        (True, "VolumeBinding", claimed(), STORAGE_CLASS, ADD, None, raw_object()),
        (False, "VolumeBinding", claimed(), STORAGE_CLASS, UPDATE, raw_object(), raw_object()),
        (True, "VolumeBinding", claimed(), STORAGE_CLASS, UPDATE, raw_object(), raw_object(allowedTopologies=[{}])),
        (True, "VolumeBinding", claimed(), CSI_NODE, ADD, None, raw_object()),
        (False, "VolumeBinding", claimed(), CSI_NODE, UPDATE, limits(1), limits(2)),
        (True, "VolumeBinding", claimed(), STORAGE_CAPACITY, ADD, None, capacity("1Gi")),
        (True, "VolumeBinding", claimed(), STORAGE_CAPACITY, UPDATE, capacity("1Gi"), capacity("2Gi")),
        (True, "VolumeBinding", claimed(), STORAGE_CAPACITY, UPDATE, capacity(None), capacity("2Gi")),
        (False, "VolumeBinding", claimed(), STORAGE_CAPACITY, UPDATE, capacity("2Gi"), capacity("1Gi")),
        (True, "VolumeBinding", volume(csi={"driver": "d"}), CSI_DRIVER, UPDATE, driver(True), driver(False)),
        (False, "VolumeBinding", volume(csi={"driver": "d"}), CSI_DRIVER, UPDATE, driver(False), driver(True)),
        (False, "VolumeBinding", volume(csi={"driver": "e"}), CSI_DRIVER, UPDATE, driver(True), driver(False)),
        (True, "VolumeZone", claimed(), STORAGE_CLASS, ADD, None, raw_object(**WAIT)),
        (False, "VolumeZone", claimed(), STORAGE_CLASS, ADD, None, raw_object()),
        (True, "VolumeZone", claimed(), VOLUME_CLAIM, UPDATE, raw_object("c"), raw_object("c")),
        (False, "VolumeZone", volume(ephemeral={}), VOLUME_CLAIM, UPDATE, raw_object("p-v"), raw_object("p-v")),
        (True, "VolumeZone", claimed(), VOLUME, ADD, None, raw_object()),
        (False, "VolumeZone", claimed(), VOLUME, UPDATE, raw_object(), raw_object(metadata={"labels": {"x": "y"}})),
        (True, "VolumeZone", claimed(), VOLUME, UPDATE, raw_object(), raw_object(metadata={"labels": {ZONE: "y"}})),
        (True, "VolumeRestrictions", claimed(), VOLUME_CLAIM, ADD, None, raw_object("c")),
        (False, "VolumeRestrictions", claimed(), VOLUME_CLAIM, ADD, None, raw_object("d")),
        (True, "NodeVolumeLimits", claimed(), CSI_NODE, ADD, None, limits(1)),
        (True, "NodeVolumeLimits", claimed(), CSI_NODE, UPDATE, limits(1), limits(2)),
        (False, "NodeVolumeLimits", claimed(), CSI_NODE, UPDATE, limits(2), limits(1)),
        (True, "NodeVolumeLimits", claimed(), VOLUME_CLAIM, ADD, None, raw_object("c")),
        (False, "NodeVolumeLimits", claimed(), VOLUME_CLAIM, UPDATE, raw_object("c"), raw_object("c")),
        (True, "NodeVolumeLimits", claimed(), ATTACHMENT, DELETE, raw_object(spec={"attacher": "d"}), None),
        (
            True,
            "NodeVolumeLimits",
            ebs("v"),
            ATTACHMENT,
            DELETE,
            raw_object(spec={"attacher": EBS}),
            None,
        ),
        (False, "NodeVolumeLimits", ebs("v"), ATTACHMENT, DELETE, raw_object(spec={"attacher": "d"}), None),
    ],
)
def test_a_change_of_storage_wakes_whom_it_may_help(
    expected: bool,
    plugin: str,
    volumes: list[Json],
    resource: str,
    action: Action,
    old: Json | None,
    new: Json | None,
) -> None:
    assert wakes(plugin, pod("p", volumes=volumes), ClusterEvent(resource, action), old, new) == expected


@pytest.mark.parametrize(
    ("plugin", "mine", "theirs", "expected"),
    [
        ("VolumeRestrictions", claimed(), claimed(), True),
        ("VolumeRestrictions", claimed("c"), claimed("d"), False),
        ("VolumeRestrictions", ebs("v"), ebs("v"), True),
        ("VolumeRestrictions", ebs("v"), ebs("w"), False),
        ("NodeVolumeLimits", claimed("c"), claimed("d"), True),
        ("NodeVolumeLimits", claimed("c"), [], False),
    ],
)
def test_a_pod_that_leaves_takes_its_volumes_along(
    plugin: str, mine: list[Json], theirs: list[Json], expected: bool
) -> None:
    assert gone(plugin, pod("p", volumes=mine), bound(volumes=theirs))() == expected
