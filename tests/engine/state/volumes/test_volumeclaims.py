"""Volumes are taken, made and bound as pods get their nodes."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine import Pod, Scheduler
from kschedweb.engine.objects.storage import Claim, PersistentVolume
from tests.engine.builders import node, scheduler
from tests.engine.storage import (
    DRIVER,
    NO_ACCESS,
    NO_VOLUME,
    ZONE,
    claim,
    csi_node,
    on_nodes,
    storage_class,
    user,
    volume,
)

HOST = "kubernetes.io/hostname"
NODES = [node("a", labels={ZONE: "one"}), node("b", labels={ZONE: "two"})]


def local(name: str, on: str, size: str = "1Gi") -> dict:
    return volume(name, size, nodeAffinity=on_nodes(HOST, on))


def the_claim(engine: Scheduler, name: str) -> Claim:
    return engine.snapshot.objects.storage.claims["default", name]


def the_volume(engine: Scheduler, name: str) -> PersistentVolume:
    return engine.snapshot.objects.storage.volumes[name]


def failure_message(engine: Scheduler, wanting: dict) -> str:
    return engine.explain(Pod.from_json(wanting)).message


def test_a_volume_goes_to_one_claim_only() -> None:
    engine = scheduler(*NODES, storage_class(), local("v", "b"), claim("c"), claim("d"))
    assert engine.schedule_one(Pod.from_json(user("p", "c"))).node == "b"
    assert (the_claim(engine, "c").volume, the_claim(engine, "c").is_bound) == ("v", True)
    assert the_volume(engine, "v").is_bound_to(the_claim(engine, "c"))
    assert failure_message(engine, user("q", "d")) == f"0/2 nodes are available: 2 {NO_VOLUME}."
    # The claim is bound now: its pods go where the volume is.
    assert failure_message(engine, user("r", "c")) == ""
    assert engine.schedule_one(Pod.from_json(user("r", "c"))).node == "b"


def test_each_claim_gets_the_smallest_volume_that_suits_it_on_the_node() -> None:
    volumes = [local("big", "a", "9Gi"), local("mid", "a", "5Gi"), local("small", "a"), local("other", "b", "6Gi")]
    engine = scheduler(NODES[0], storage_class(), *volumes, claim("c", "5Gi"), claim("d"), claim("e", "5Gi"))
    assert engine.schedule_one(Pod.from_json(user("p", "c", "d", "e"))).node == "a"
    assert {name: the_claim(engine, name).volume for name in "cde"} == {"c": "mid", "d": "small", "e": "big"}


def test_a_volume_reserved_for_a_claim_is_the_one_it_gets() -> None:
    mine = {"namespace": "default", "name": "c"}
    volumes = [local("small", "a"), volume("mine", "5Gi", claimRef=mine)]
    engine = scheduler(NODES[0], storage_class(), *volumes, claim("c"))
    assert engine.schedule_one(Pod.from_json(user("p", "c"))).node == "a"
    assert the_claim(engine, "c").volume == "mine"


def test_what_was_taken_is_given_back_where_the_pod_is_refused() -> None:
    provisioned_class = storage_class("made", DRIVER)
    engine = scheduler(
        *NODES,
        storage_class(),
        provisioned_class,
        local("v", "a"),
        claim("c"),
        claim("d"),
        claim("e", storageClassName="made"),
    )
    binding = engine.create_binding(Pod.from_json(user("p", "c", "e")), "a")
    assert binding.reserve_and_permit() is None
    assert failure_message(engine, user("q", "d")) == f"0/2 nodes are available: 2 {NO_VOLUME}."
    assert engine.explain(Pod.from_json(user("q", "e"))).feasible.tolist() == [0]
    binding.reject("Permit", "no")
    assert failure_message(engine, user("q", "d")) == ""
    assert engine.explain(Pod.from_json(user("q", "e"))).feasible.tolist() == [0, 1]


def with_topology(name: str) -> dict:
    raw_node = csi_node(name, csi_example_com=2)
    raw_node["spec"]["drivers"][0]["topologyKeys"] = [ZONE]
    return raw_node


def test_a_volume_that_is_made_can_be_reached_from_the_nodes_topology() -> None:
    provisioned_class = storage_class("made", DRIVER)
    third = node("c", labels={ZONE: "one"})
    drivers = [with_topology(name) for name in "abc"]
    engine = scheduler(*NODES, third, *drivers, provisioned_class, claim("d", storageClassName="made"))
    assert engine.schedule_one(Pod.from_json(user("p", "d"))).node == "a"
    assert the_claim(engine, "d").is_bound
    answer = engine.explain(Pod.from_json(user("q", "d")))
    assert [answer.nodes[position] for position in answer.feasible] == ["a", "c"]
    verdict = answer.verdict("b")
    assert verdict is not None
    assert verdict.reasons == (NO_ACCESS,)


def test_a_volume_that_is_made_counts_once_against_the_nodes_limit() -> None:
    provisioned_class = storage_class("made", DRIVER)
    claims = [claim(name, storageClassName="made") for name in "de"]
    engine = scheduler(NODES[0], csi_node("a", csi_example_com=1), provisioned_class, *claims)
    engine.schedule_pods([Pod.from_json(user("p", "d")), Pod.from_json(user("q", "d"))])
    assert engine.snapshot.volume_use.attached_counts(DRIVER).tolist() == [1]
    assert "exceed max volume count" in failure_message(engine, user("r", "e"))
    engine.snapshot.remove_pod("default/p")
    assert engine.snapshot.volume_use.attached_counts(DRIVER).tolist() == [1]
    engine.snapshot.remove_pod("default/q")
    assert engine.snapshot.volume_use.attached_counts(DRIVER).tolist() == [0]


def test_a_copy_of_the_snapshot_keeps_its_claims() -> None:
    engine = scheduler(NODES[0], storage_class(), local("v", "a"), claim("c"))
    before = engine.snapshot.copy()
    engine.schedule_one(Pod.from_json(user("p", "c")))
    after = engine.snapshot.copy()
    assert not before.objects.storage.claims["default", "c"].is_bound
    assert after.objects.storage.claims["default", "c"].is_bound


@pytest.mark.parametrize("names", [("c",), ("c", "d")])
def test_claims_that_are_bound_stay_as_they_are(names: tuple[str, ...]) -> None:
    bound: list[Any] = [volume(f"v-{name}", nodeAffinity=on_nodes(HOST, "a")) for name in names]
    bound += [claim(name, volume=f"v-{name}") for name in names]
    engine = scheduler(*NODES, storage_class(), *bound)
    storage = engine.snapshot.objects.storage
    before = dict(storage.claims), dict(storage.volumes)
    assert engine.schedule_one(Pod.from_json(user("p", *names))).node == "a"
    assert (storage.claims, storage.volumes) == before


def test_pods_that_wait_for_the_same_claim_attach_one_volume() -> None:
    provisioned_class = storage_class("made", DRIVER)
    engine = scheduler(*NODES, csi_node("a", csi_example_com=1), provisioned_class, claim("d", storageClassName="made"))
    first, other = (engine.create_binding(Pod.from_json(user(name, "d")), "a") for name in "pq")
    assert first.reserve_and_permit() is None
    assert other.reserve_and_permit() is None
    assert first.run_binding() is None
    assert engine.snapshot.volume_use.attached_counts(DRIVER).tolist() == [1, 0]
    other.reject("Permit", "no")
    assert the_claim(engine, "d").is_bound
    engine.snapshot.remove_pod("default/p")
    assert engine.snapshot.volume_use.attached_counts(DRIVER).tolist() == [0, 0]


def test_the_second_pod_of_a_claim_finds_it_bound_when_its_turn_comes() -> None:
    engine = scheduler(*NODES, storage_class(), local("v", "a"), local("w", "a"), claim("c"))
    first, other = (engine.create_binding(Pod.from_json(user(name, "c")), "a") for name in "pq")
    assert first.reserve_and_permit() is None
    assert other.reserve_and_permit() is None
    assert first.run_binding() is None
    assert other.run_binding() is None
    assert the_claim(engine, "c").volume == "v"
    assert the_volume(engine, "w").claim is None
