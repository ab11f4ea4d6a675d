"""Elections over a real Lease: taking over, giving back, and a server that is away."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pytest_django import Settings

from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.live.schedulers.election.elector import Elector, new_identity
from kschedweb.live.schedulers.election.lease import LeaseLock
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kschedweb-test"
EVENTS = "/api/v1/namespaces/kube-system/events"
SHORT: dict[str, Any] = {"lease": 2.0, "renew": 1.0, "retry": 0.1}


class Candidate:
    """An elector in a thread of its own, and what it was told to do."""

    def __init__(self, plane: ControlPlane) -> None:
        secret = Secret(server=plane.url, ca=plane.ca, token=plane.tokens["admin"])
        self.client, self.identity = Client.open(secret), new_identity()
        self.heard: list[tuple[str, Any]] = []
        self.stop = threading.Event()
        lock = LeaseLock(self.client, "kube-system", "kschedweb-test", self.identity, seconds=0.5)
        self.elector = Elector(
            lock,
            self.identity,
            **SHORT,
            on_started_leading=lambda epoch: self.heard.append(("started", epoch)),
            on_stopped_leading=lambda: self.heard.append(("stopped", None)),
        )
        self.thread = threading.Thread(target=self.elector.run, args=(self.stop,), daemon=True)
        self.thread.start()

    def leads(self) -> None:
        wait_until(lambda: self.elector.leading, f"{self.identity} leads: {self.elector.error}", step=0.02)

    def end(self) -> None:
        self.stop.set()
        self.thread.join(5)
        self.client.close()


@pytest.fixture
def candidate(control_plane: ControlPlane, settings: Settings) -> Iterator[Callable[[], Candidate]]:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]
    control_plane.request("DELETE", LEASE)
    candidates: list[Candidate] = []

    def make() -> Candidate:
        candidates.append(Candidate(control_plane))
        return candidates[-1]

    yield make
    for started in candidates:
        started.end()
    control_plane.request("DELETE", LEASE)
    control_plane.call("DELETE", EVENTS)


def test_the_lease_is_given_back_and_taken_over_at_once(
    control_plane: ControlPlane, candidate: Callable[[], Candidate]
) -> None:
    first = candidate()
    first.leads()
    second = candidate()
    wait_until(lambda: second.elector.holder == first.identity, "the second sees who leads", step=0.02)
    assert not second.elector.leading
    spec = control_plane.call("GET", LEASE)["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == (first.identity, 2, 0)
    first.end()
    assert first.heard == [("started", 0), ("stopped", None)]
    second.leads()
    assert control_plane.call("GET", LEASE)["spec"]["leaseTransitions"] == second.elector.epoch
    assert second.elector.epoch > first.elector.epoch
    messages = [event["message"] for event in control_plane.call("GET", EVENTS)["items"]]
    wait_until(lambda: ("started", second.elector.epoch) in second.heard, "the second was told")
    assert f"{first.identity} became leader" in messages
    assert f"{first.identity} stopped leading" in messages


def test_who_falls_silent_is_succeeded(control_plane: ControlPlane, candidate: Callable[[], Candidate]) -> None:
    first = candidate()
    first.leads()
    second = candidate()
    first.client.stop.set()
    first.elector._lock.update = lambda record: (_ for _ in ()).throw(OSError)  # type: ignore[method-assign]
    first.elector._lock.get = lambda: (_ for _ in ()).throw(OSError)  # type: ignore[method-assign]
    second.leads()
    assert not first.elector.leading
    assert ("stopped", None) in first.heard
    assert second.elector.epoch == first.elector.epoch + 1


def test_a_stolen_lease_ends_the_term(control_plane: ControlPlane, candidate: Callable[[], Candidate]) -> None:
    first = candidate()
    first.leads()
    control_plane.call("PATCH", LEASE, {"spec": {"holderIdentity": "thief", "leaseTransitions": 7}})
    wait_until(lambda: not first.elector.leading, "the term ends", step=0.01)
    first.leads()  # the thief never renews
    assert first.elector.epoch == 8
    # Who leads knows it a moment before it is told.
    wait_until(
        lambda: [event for event, _ in first.heard] == ["started", "stopped", "started"], "it is told", step=0.01
    )


def test_a_lease_that_is_deleted_does_not_turn_the_epochs_back(
    control_plane: ControlPlane, candidate: Callable[[], Candidate]
) -> None:
    first = candidate()
    first.leads()
    control_plane.call("DELETE", LEASE)
    wait_until(lambda: control_plane.request("GET", LEASE).status == 200, "it is made anew", step=0.02)
    wait_until(lambda: ("started", 1) in first.heard, "a new epoch", step=0.02)
    assert first.elector.leading
    assert [event for event, _ in first.heard] == ["started", "stopped", "started"]
