"""Held pods of a live run: what is stored, restored, carried out and ended, with the real loop and the real rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast
from uuid import UUID

import pytest

from kschedweb.engine.live import BindPod, HoldPod, LiveLoop, PodRef, ReportPod, Superseded
from kschedweb.engine.releases import CURRENT, load
from kschedweb.live.schedulers.decisions.log import DecisionLog, records_write
from kschedweb.live.schedulers.decisions.rows import decision_id
from kschedweb.live.schedulers.metrics import Instruments
from kschedweb.live.schedulers.models import LiveDecision, LiveScheduler
from kschedweb.live.schedulers.running.figures import RunFigures
from kschedweb.live.schedulers.running.gate_client import (
    BindPermission,
    GateClient,
    RequestsDecided,
    RequestsListed,
    RequestStored,
)
from kschedweb.live.schedulers.running.gates import Decided, HeldRequest
from kschedweb.live.schedulers.running.held_pods import Requests
from kschedweb.live.schedulers.running.ledger import Ledger, LedgerContext
from tests.support import seed

NOW = 2_000_000_000.0
POLICY = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: kschedweb
  plugins: {permit: {enabled: [{name: HumanApproval}]}}
  pluginConfig: [{name: HumanApproval, args: {rules: [{name: all, timeout: 1h}]}}]
"""
PLUGIN = "HumanApproval"


@dataclass
class RecordingGate:
    """Stands in for the client of the gate, and records its calls."""

    term: int = 0
    held_pods: list[HoldPod] = field(default_factory=list)
    ends: list[tuple[str, str, str]] = field(default_factory=list)
    opens: int = 0
    permissions: list[str] = field(default_factory=list)

    def open(self, term: int) -> None:
        self.opens += 1

    def hold(self, intent: HoldPod, *, term: int, epoch: int) -> None:
        self.held_pods.append(intent)

    def may_bind(self, uid: str, request_id: str, *, term: int, epoch: int) -> None:
        self.permissions.append(uid)

    def note_ended(self, uid: str, state: str, reason: str, epoch: int) -> None:
        self.ends.append((uid, state, reason))


class Run:
    """A loop that knows two nodes and one pod, its requests and its books."""

    def __init__(self, live: LiveScheduler, epoch: int = 1, **status: Any) -> None:
        self.live, self.gate = live, RecordingGate()
        loaded = load(POLICY)
        assert loaded.configuration is not None
        self.loop = LiveLoop(loaded.configuration)
        self.log = DecisionLog(live.pk)
        books = LedgerContext(
            live.pk, "kschedweb", live.policy.revisions.get().pk, keep_columns=0, engine=CURRENT.engine, epoch=epoch
        )
        self.ledger = Ledger(books, self.log, RunFigures(), Instruments("c", "kschedweb", "lease"))
        self.requests = Requests(self.loop, cast("GateClient", self.gate), self.ledger)
        self.loop.replace_objects("Node", [seed.node("node-1"), seed.node("node-2")], NOW)
        pod = seed.pod("web", **status)
        pod["spec"]["schedulerName"] = "kschedweb"
        self.loop.replace_objects("Pod", [pod], NOW)
        self.requests.begin_term(1, epoch, NOW)

    def hold(self) -> HoldPod:
        """The pod is tried, and held."""
        self.requests.handle_opened(RequestsListed(1, ()), NOW)
        intents = self.loop.step(NOW)
        hold = next(intent for intent in intents if isinstance(intent, HoldPod))
        self.ledger.note_held(hold)
        self.requests.hold_pod(hold)
        return hold

    def answer(self, verdict: Any, reason: str = "", **more: Any) -> list[Any]:
        return self.requests.handle_answered(
            RequestsDecided(1, [Decided("7", "web", PLUGIN, verdict, reason, **more)]), NOW + 1
        )

    def stored_decisions(self) -> list[tuple[str, str]]:
        records_write(self.live.pk, list(self.log._waiting))
        return [(row.result, row.message) for row in LiveDecision.objects.all()]


def request(live: LiveScheduler, hold: HoldPod) -> HeldRequest:
    decision = str(decision_id(live.pk, hold.decision))
    return HeldRequest("7", "web", "default", "web", hold.node, PLUGIN, NOW - 100, NOW + 3600, decision)


def test_an_approved_pod_is_bound_only_once_the_gate_permits_it(live: LiveScheduler) -> None:
    run = Run(live)
    hold = run.hold()
    assert [held_pod.pod.uid for held_pod in run.gate.held_pods] == ["web"]
    assert run.answer("allow") == []
    assert run.answer("allow") == []  # it is answered until it has ended
    assert run.gate.permissions == ["web"]
    bind, more = run.requests.handle_permission(BindPermission(1, "web", True), NOW + 2)
    assert isinstance(bind, BindPod)
    assert (bind.node, more) == (hold.node, [])
    run.ledger.note_bound(bind, NOW + 3)
    run.requests.note_bound("web")
    assert run.gate.ends == [("web", "bound", "")]
    assert run.stored_decisions() == [("bound", "")]
    assert LiveDecision.objects.get().engine == CURRENT.engine


def test_the_time_that_people_take_is_told_apart_from_scheduling(live: LiveScheduler) -> None:
    run = Run(live)
    gated = seed.pod("web")
    gated["spec"] |= {"schedulerName": "kschedweb", "schedulingGates": [{"name": "quota"}]}
    run.ledger.note_created(gated, NOW - 5000)
    del gated["spec"]["schedulingGates"]
    run.ledger.note_created(gated, NOW - 2)
    run.hold()
    run.requests.handle_answered(RequestsDecided(1, [Decided("7", "web", PLUGIN, "allow", "")]), NOW + 600)
    bind, _ = run.requests.handle_permission(BindPermission(1, "web", True), NOW + 601)
    assert bind is not None
    run.ledger.note_bound(bind, NOW + 601)
    assert run.ledger.figures.latency() == {"p50": 3.0, "p99": 3.0, "people": 600.0}
    run.stored_decisions()
    assert LiveDecision.objects.get().latency == 3.0


def test_what_people_took_before_a_restart_is_theirs_too(live: LiveScheduler) -> None:
    hold = Run(live).hold()
    run = Run(live, epoch=2)
    pod = seed.pod("web")
    pod["spec"]["schedulerName"] = "kschedweb"
    run.ledger.note_created(pod, NOW - 101)
    run.requests.handle_opened(RequestsListed(1, (request(live, hold),)), NOW)
    run.answer("allow")
    bind, _ = run.requests.handle_permission(BindPermission(1, "web", True), NOW + 1)
    assert bind is not None
    run.ledger.note_bound(bind, NOW + 1)
    assert run.ledger.figures.latency() == {"p50": 1.0, "p99": 1.0, "people": 101.0}


def test_an_approved_pod_that_waits_for_others_too_is_bound_by_the_gate_alone(live: LiveScheduler) -> None:
    run = Run(live)
    hold = run.hold()
    reservation = run.loop._work.reservations.find_waiting("web")
    assert reservation is not None
    reservation.binding.waits["GangScheduling"] = NOW + 300, 300.0
    assert run.answer("allow") == []
    assert run.gate.permissions == []
    (bind,) = run.loop.allow_pod("web", "GangScheduling", NOW + 1)
    assert isinstance(bind, BindPod)
    assert run.requests.binds_later(bind)
    assert run.gate.permissions == ["web"]
    assert run.requests.handle_permission(BindPermission(1, "web", True), NOW + 2) == (bind, [])
    # A pod that nobody was asked about is bound at once.
    assert not run.requests.binds_later(replace(bind, pod=PodRef("default", "other", "other")))
    assert bind.node == hold.node


def test_without_the_gates_permission_nothing_is_bound_and_the_pod_is_tried_anew(live: LiveScheduler) -> None:
    run = Run(live)
    run.hold()
    run.answer("allow")
    bind, intents = run.requests.handle_permission(BindPermission(1, "web", False), NOW + 2)
    assert bind is None
    assert [type(intent) for intent in intents] == [ReportPod]
    assert run.loop.depths.backoff == 1
    assert run.stored_decisions()[0][0] == "superseded"


@pytest.mark.parametrize(("expired", "result"), [(False, "denied"), (True, "expired")])
def test_a_refused_pod_goes_back_with_the_reason(live: LiveScheduler, expired: bool, result: str) -> None:
    run = Run(live)
    run.hold()
    (report,) = run.answer("reject", "denied by ann: too large", expired=expired)
    assert isinstance(report, ReportPod)
    assert "denied by ann: too large" in report.message
    run.ledger.note_reported(report, NOW + 2)
    assert run.gate.ends == [("web", "rejected", "denied by ann: too large")]
    assert run.stored_decisions() == [(result, "denied by ann: too large")]
    assert run.loop.depths.unschedulable == 1


def test_after_a_restart_the_pod_is_held_again_and_an_approval_given_meanwhile_counts(live: LiveScheduler) -> None:
    before = Run(live)
    hold = before.hold()
    before.stored_decisions()
    after = Run(live, epoch=2)
    assert after.requests.handle_opened(RequestsListed(1, [request(live, hold)]), NOW) == []
    assert after.loop.depths.awaiting_approval == 1
    assert after.loop.step(NOW) == []  # nothing is tried that is held already
    after.answer("allow")
    bind, _ = after.requests.handle_permission(BindPermission(1, "web", True), NOW + 2)
    assert bind is not None
    assert bind.node == hold.node
    after.ledger.note_bound(bind, NOW + 3)
    assert after.stored_decisions() == [("bound", "")]


def test_a_pod_that_an_earlier_leader_bound_in_its_last_moment_is_found_bound(live: LiveScheduler) -> None:
    before = Run(live)
    hold = before.hold()
    before.stored_decisions()
    after = Run(live, epoch=2, bound_to=hold.node)
    assert after.requests.handle_opened(RequestsListed(1, [request(live, hold)]), NOW) == []
    assert after.gate.ends == [("web", "bound", "")]
    assert after.stored_decisions() == [("bound", "")]


def test_what_nobody_asks_about_any_more_after_a_takeover_is_superseded(live: LiveScheduler) -> None:
    before = Run(live)
    before.hold()
    before.stored_decisions()
    after = Run(live, epoch=2)
    after.requests.handle_opened(RequestsListed(1, ()), NOW)
    assert after.stored_decisions() == [("superseded", "another process took over")]


def test_an_answer_about_an_unknown_pod_has_the_open_requests_read_again(live: LiveScheduler) -> None:
    run = Run(live)
    run.requests.handle_opened(RequestsListed(1, ()), NOW)
    assert run.gate.opens == 1
    run.answer("allow")
    run.answer("allow")
    assert run.gate.opens == 2  # not more often than once a second


def test_a_request_that_can_never_be_stored_rejects_the_pod(live: LiveScheduler) -> None:
    run = Run(live)
    run.hold()
    (report,) = run.requests.handle_stored(
        RequestStored(1, "web", PLUGIN, "this installation has no approvals"), NOW + 1
    )
    assert isinstance(report, ReportPod)
    assert "this installation has no approvals" in report.message


def test_a_held_pod_that_is_deleted_ends_its_request(live: LiveScheduler) -> None:
    run = Run(live)
    run.hold()
    pod = seed.pod("web")
    pod["spec"]["schedulerName"] = "kschedweb"
    intents = run.loop.delete_object("Pod", pod, NOW + 1)
    superseded = [intent for intent in intents if isinstance(intent, Superseded)]
    assert len(superseded) == 1
    run.requests.handle_superseded(superseded[0], NOW + 1)
    assert run.gate.ends[0][:2] == ("web", "superseded")
    assert run.stored_decisions()[0][0] == "superseded"
    assert UUID(str(LiveDecision.objects.get().pk))
