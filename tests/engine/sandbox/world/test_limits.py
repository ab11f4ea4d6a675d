"""The bounds of the sandbox: nobody takes all its room, also by an object that was stored before there were any."""

from __future__ import annotations

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox import limits
from kschedweb.engine.sandbox.resources import NODE, POD, Resource, get_resource
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.world.resources import (
    CONFIG_MAP,
    DEPLOYMENT,
    JOB,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)
from kschedweb.engine.sandbox.world.world import MOST_WRITES
from tests.engine.sandbox.living import Living, pod, workload

FAR_TOO_MANY = 1_000_000_000
SIZED = (
    (DEPLOYMENT, "replicas"),
    (REPLICA_SET, "replicas"),
    (REPLICATION_CONTROLLER, "replicas"),
    (STATEFUL_SET, "replicas"),
    (JOB, "parallelism"),
)


def sized(resource: Resource, field: str, size: int) -> Json:
    """An object that asks for ``size`` pods at once."""
    raw = workload("many", None)
    raw["spec"][field] = size
    if resource is JOB:
        raw["spec"]["completions"] = size
        raw["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    if resource in (JOB, REPLICATION_CONTROLLER):
        del raw["spec"]["selector"]
    if resource is STATEFUL_SET:
        raw["spec"]["podManagementPolicy"] = "Parallel"
    return raw


@pytest.mark.parametrize(("resource", "field"), SIZED, ids=lambda value: getattr(value, "kind", value))
def test_who_asks_for_too_many_pods_is_told(resource: Resource, field: str) -> None:
    living = Living(schedulers=())
    with pytest.raises(ApiRefusal) as refused:
        living.create(resource, sized(resource, field, FAR_TOO_MANY))
    assert refused.value.code == 422
    expected_error = f"spec.{field}: Invalid value: 1000000000: the sandbox holds at most 2,000 pods"
    assert refused.value.message.endswith(f'"many" is invalid: {expected_error}')
    living.create(resource, sized(resource, field, 2))
    with pytest.raises(ApiRefusal, match="the sandbox holds at most 2,000 pods"):
        living.merge(resource, "many", {"spec": {field: FAR_TOO_MANY}})


@pytest.mark.parametrize(("resource", "field"), SIZED, ids=lambda value: getattr(value, "kind", value))
def test_an_object_of_before_takes_no_more_than_its_room(
    resource: Resource, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    living = Living(schedulers=())
    raw = living.create(resource, sized(resource, field, 2))
    monkeypatch.setattr(limits, "MOST_PODS", 120)
    living.store.put(resource, {**raw, "spec": {**raw["spec"], field: FAR_TOO_MANY, "completions": FAR_TOO_MANY}})
    living.restart()
    before = living.store.version
    living.world.advance(living.now)
    assert living.store.version - before < MOST_WRITES + 4 * limits.BURST  # others have their turn
    living.turn()
    assert living.store.count_objects(POD) == 120
    maker = next(raw for raw in living.all(REPLICA_SET)) if resource is DEPLOYMENT else raw
    event_reasons = living.reasons(REPLICA_SET if resource is DEPLOYMENT else resource, maker["metadata"]["name"])
    assert "FailedCreate" in event_reasons
    living.delete(resource, "many")
    living.live(60)
    assert living.store.count_objects(POD) == 0


def test_an_annotation_scales_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    living = Living(quiet=False, schedulers=())
    raw = workload("grows", 1)
    raw["metadata"]["annotations"] = {"sandbox.kschedweb.dev/scales": f"{FAR_TOO_MANY}-{'9' * 5000}"}
    living.create(DEPLOYMENT, raw)
    raw = workload("shrinks", 1)
    raw["metadata"]["annotations"] = {"sandbox.kschedweb.dev/scales": f"{FAR_TOO_MANY}-{FAR_TOO_MANY}"}
    living.create(DEPLOYMENT, raw)
    living.live(600)
    assert {living.get(DEPLOYMENT, name)["spec"]["replicas"] for name in ("grows", "shrinks")} == {1}


def test_there_is_room_for_so_many_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_PODS", 3)
    monkeypatch.setattr(limits, "MOST_NODES", 2)
    monkeypatch.setattr(limits, "MOST_OTHERS", 4)
    living = Living(schedulers=())
    maps = [{"metadata": {"name": f"m-{number}"}} for number in range(5)]
    nodes = [{"metadata": {"name": f"n-{number}"}} for number in range(3)]
    for resource, raws in ((POD, [pod(f"p-{number}") for number in range(4)]), (NODE, nodes), (CONFIG_MAP, maps)):
        for raw in raws[:-1]:
            living.create(resource, raw)
        with pytest.raises(ApiRefusal) as refused:
            living.create(resource, raws[-1])
        expected_error = f"the sandbox holds at most {len(raws) - 1} {resource.plural}; delete some of them first"
        assert (refused.value.code, refused.value.message.rpartition(": ")[2]) == (403, expected_error)
        living.delete(resource, raws[0]["metadata"]["name"])
        living.create(resource, raws[-1])


def test_a_daemon_set_over_many_nodes_comes_in_parts() -> None:
    living = Living(schedulers=())
    for number in range(limits.BURST + 5):
        living.node(f"node-{number}")
    living.create(get_resource("DaemonSet", "apps/v1"), workload("everywhere", None))
    living.turn()
    assert living.store.count_objects(POD) == limits.BURST + 5
