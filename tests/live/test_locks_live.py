"""Elections over Endpoints, ConfigMaps, Leases and pairs of them on the real API server, beside client-go of 1.19.

Candidates are processes that are paused and killed; each writes down when it leads, and no two may at once.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.live.schedulers.election.annotationlock import KEY
from kschedweb.live.schedulers.election.locks import PARTS
from tests.support.candidate import Field
from tests.support.needs import missing
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

CORE, COORDINATION = "/api/v1", "/apis/coordination.k8s.io/v1"
EVENTS = f"{CORE}/namespaces/kube-system/events"
SUBSETS = [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 443, "protocol": "TCP"}]}]
FOREIGN_METADATA = {"labels": {"app": "water"}, "annotations": {"example.com/other": "kept"}}


def path(resource: str, name: str) -> str:
    return f"{COORDINATION if resource == 'leases' else CORE}/namespaces/kube-system/{resource}/{name}"


@pytest.fixture
def fields(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Callable[[str], Field]]:
    """Elections by name; at the end nothing of them is left."""
    elections: list[Field] = []

    def make(name: str) -> Field:
        elections.append(Field(control_plane, tmp_path, name))
        return elections[-1]

    yield make
    for field in elections:
        field.close()
        for resource in ("endpoints", "configmaps", "leases"):
            control_plane.request("DELETE", path(resource, field.name))
    control_plane.call("DELETE", EVENTS)


@pytest.fixture(scope="module")
def client_go() -> str:
    """The elector with the client-go of Kubernetes 1.19 (``ELECTOR``)."""
    program = os.environ.get("ELECTOR")
    if not program:
        missing("set ELECTOR to what tests/originals/build elector prints")
    return program


def at_once(do: Callable[..., None], cases: Iterable[tuple[Any, ...]]) -> None:
    """Elections that know nothing of each other wait for most of their time."""
    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(do, *case) for case in cases]:
            future.result()


def records(plane: ControlPlane, kind: str, name: str) -> list[Json]:
    """Return the record in each object of the lock, under the names of the annotation."""
    lock_records = []
    for part in PARTS[kind]:
        item = plane.call("GET", path(part.resource, name))
        if part.resource == "leases":
            spec = item["spec"]
            lock_records.append({**spec, "leaderTransitions": spec["leaseTransitions"]})
        else:
            lock_records.append(json.loads(item["metadata"]["annotations"][KEY]))
    return lock_records


def test_each_lock_is_held_renewed_taken_over_and_given_back(
    control_plane: ControlPlane, fields: Callable[[str], Field]
) -> None:
    for resource, more in (("endpoints", {"subsets": SUBSETS}), ("configmaps", {"data": {"key": "kept"}})):
        item: Json = {"metadata": {"name": f"water-{resource}", **FOREIGN_METADATA}} | more
        control_plane.call("POST", path(resource, ""), item)

    def holders(kind: str, name: str) -> set[str]:
        return {record["holderIdentity"] for record in records(control_plane, kind, name)}

    def live(kind: str) -> None:
        field = fields(f"water-{kind}")
        first = field.start(kind)
        assert field.leader() is first
        assert holders(kind, field.name) == {first.identity}
        before = records(control_plane, kind, field.name)
        wait_until(lambda: records(control_plane, kind, field.name) != before, "it is renewed", step=0.1)
        second = field.start(kind)
        first.end(signal.SIGKILL)
        assert field.leader() is second
        assert second.spans()[0][0] - first.spans()[-1][1] > 0.7  # it waited for what the record said
        after = {record["leaderTransitions"] for record in records(control_plane, kind, field.name)}
        assert len(after) == 1
        assert max(after) > before[0]["leaderTransitions"]
        second.end()
        assert holders(kind, field.name) == {""}
        third = field.start(kind)
        assert field.leader() is third
        field.check()

    at_once(live, [(kind,) for kind in PARTS])
    endpoints, config = (
        control_plane.call("GET", path(plural, f"water-{plural}")) for plural in ("endpoints", "configmaps")
    )
    assert (endpoints["subsets"], config["data"]) == (SUBSETS, {"key": "kept"})
    for item in (endpoints, config):
        metadata = item["metadata"]
        assert metadata["annotations"].pop(KEY)
        assert {name: metadata[name] for name in FOREIGN_METADATA} == FOREIGN_METADATA
    events = control_plane.call("GET", EVENTS)["items"]
    subjects = {(event["involvedObject"]["kind"], event["involvedObject"]["name"]) for event in events}
    assert {(part.kind, f"water-{kind}") for kind, parts in PARTS.items() for part in parts} <= subjects


def test_a_record_that_cannot_be_read_lets_nobody_lead_and_is_told(control_plane: ControlPlane, settings: Any) -> None:
    from kschedweb.clusters.connecting.client import Client
    from kschedweb.clusters.connecting.credentials import Secret
    from kschedweb.live.schedulers.election.elector import Elector
    from kschedweb.live.schedulers.election.locks import make_lock

    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]
    item = {"metadata": {"name": "broken", "annotations": {KEY: "{"}}}
    control_plane.call("POST", path("configmaps", ""), item)
    try:
        for user, message in (
            ("admin", "is no record of an election"),
            ("stranger", 'cannot get resource "configmaps"'),
        ):
            secret = Secret(server=control_plane.url, ca=control_plane.ca, token=control_plane.tokens[user])
            with Client.open(secret) as client:
                elector = Elector(make_lock("configmaps", client, "kube-system", "broken", "me"), "me")
                elector.acquire_or_renew()
            assert not elector.leading
            assert message in elector.error
        secret = Secret(server=control_plane.url, ca=control_plane.ca, token=control_plane.tokens["admin"])
        with Client.open(secret) as client:
            elector = Elector(make_lock("endpoints", client, "nowhere", "broken", "me"), "me")
            elector.acquire_or_renew()
        assert "has no namespace nowhere: choose another lock or namespace" in elector.error
    finally:
        control_plane.request("DELETE", path("configmaps", "broken"))


# Every step of a migration and what stays where it is; ours beside theirs.
MIXED = [
    ("endpoints", "endpoints"),
    ("configmapsleases", "configmapsleases"),
    ("endpoints", "endpointsleases"),
    ("endpointsleases", "endpoints"),
    ("endpointsleases", "leases"),
    ("leases", "endpointsleases"),
    ("configmaps", "configmapsleases"),
]


def test_beside_client_go_one_leads(fields: Callable[[str], Field], client_go: str) -> None:
    def live(theirs: str, ours: str) -> None:
        field = fields(f"beside-{theirs}-{ours}")
        their_elector = field.start(theirs, client_go)
        assert field.leader() is their_elector
        our_elector = field.start(ours)
        their_elector.end(signal.SIGKILL)
        assert field.leader(their_elector) is our_elector
        their_elector = field.start(theirs, client_go)
        our_elector.end(signal.SIGKILL)
        assert field.leader(our_elector) is their_elector
        field.check()

    at_once(live, MIXED)


@pytest.mark.nightly
def test_nobody_leads_beside_another_while_the_lock_is_migrated(fields: Callable[[str], Field]) -> None:
    """From the old lock by way of the pair to Leases and back, with leaders paused beyond their term, and killed."""

    def live(old: str) -> None:
        pair, field = f"{old}leases", fields(f"moved-{old}")
        first, second = field.start(old), field.start(old)
        field.leader()
        third = field.start(pair)
        field.pause(field.leader())
        first.end(signal.SIGKILL)
        fourth = field.start(pair)
        second.end()
        field.pause(field.leader())
        fifth = field.start("leases")
        third.end(signal.SIGKILL)
        field.pause(field.leader())
        fourth.end()
        assert field.leader() is fifth
        sixth = field.start(pair)
        fifth.end(signal.SIGKILL)
        assert field.leader() is sixth
        field.check()

    at_once(live, [("endpoints",), ("configmaps",)])


def test_without_the_pair_two_lead_at_once_and_are_seen(fields: Callable[[str], Field]) -> None:
    """A direct change from the old lock to Leases makes two leaders, and the checks here notice it."""
    field = fields("apart")
    field.start("endpoints")
    field.start("leases")

    def both_led() -> bool:
        try:
            field.check()
        except AssertionError as error:
            return "led at once" in str(error)
        return False

    wait_until(both_led, "it is seen that both led at once")
