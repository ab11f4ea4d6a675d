"""The writes of a scheduler to the cluster: bindings, pod conditions, nominations, evictions, prepared claims.

A binding names the pod's uid, so the API server binds each pod only once, whatever happens on the way. If the outcome
of a binding is unknown, the pod is read, and its state there counts.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from urllib.parse import quote

from kschedweb.clusters.connecting.client import JSON, STRATEGIC, Client, ClusterError
from kschedweb.clusters.connecting.errors import status_error, status_text
from kschedweb.clusters.connecting.wire import WireResponse
from kschedweb.clusters.following.facts import KnownPods, NamedObject, Preemptor
from kschedweb.clusters.kinds import BY_NAME
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import ReportGroup
from kschedweb.live.schedulers.writing.limits import TokenBucket
from kschedweb.live.schedulers.writing.patches import (
    DISRUPTION_TARGET,
    POD_SCHEDULED,
    PREEMPTED_BY_SCHEDULER,
    group_status_patch,
    status_patch,
)

# Seconds for one request, below the 10 s after which a leader that cannot renew stops leading.
CALL_SECONDS = 8.0
# Seconds for reading a pod whose binding is unknown.
LOOK_SECONDS = 15.0
# client-go's DefaultBackoff: 10, 50 and 250 ms between the tries.
TRIES = 4
FIRST_REST, FACTOR = 0.01, 5.0
CONFLICT, MISSING, INVALID, TOO_MANY = 409, 404, 422, 429


class WriteCode(StrEnum):
    """The outcome of a write."""

    BOUND = "bound"
    # It was written; for writes other than bindings.
    WRITTEN = "done"
    # The pod is bound to another node, being deleted, gated, or another pod of that name.
    CONFLICT = "conflict"
    # The pod does not exist any more.
    MISSING = "missing"
    # The server refused, or the request was not even sent.
    REFUSED = "refused"
    # Not sent, because this process does not lead any more.
    WITHHELD = "withheld"
    # Not known yet; ``Writer.read_binding`` reads it.
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class WriteResult:
    """The result of a write."""

    result: WriteCode
    # Why it failed, in words for an event, a log or a page.
    text: str = ""

    @property
    def is_done(self) -> bool:
        return self.result in (WriteCode.BOUND, WriteCode.WRITTEN)


BOUND, WRITTEN = WriteResult(WriteCode.BOUND), WriteResult(WriteCode.WRITTEN)
WITHHELD = WriteResult(WriteCode.WITHHELD, "This scheduler does not lead any more.")


class Writer:
    """Writes for one scheduler, from any number of threads. Each call blocks until its result is known.

    ``leading`` is called right before each request to the server, after any wait. ``pods`` holds the known pods, and
    must be told of every pod that is seen.
    """

    def __init__(
        self,
        client: Client,
        pods: KnownPods,
        *,
        leading: Callable[[], bool],
        limit: TokenBucket | None = None,
        call_seconds: float = CALL_SECONDS,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._client, self._pods, self._leading, self._limit = client, pods, leading, limit
        self._call_seconds, self._look_seconds = call_seconds, look_seconds

    # Bindings.

    def bind(self, pod: NamedObject, node: str) -> WriteResult:
        """Bind ``pod`` to ``node``. Return bound, conflict, missing, refused, withheld or unknown."""
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
            "target": {"kind": "Node", "name": node},
        }
        try:
            answer = self._send_request("POST", f"{pod_path(pod)}/binding", body)
        except ClusterError as error:
            # A request that never reached the server has certainly not bound the pod.
            if not error.reached:
                return WriteResult(WriteCode.REFUSED, error.detail)
            return self.read_binding(pod, node)
        if answer is None:
            return WITHHELD
        if answer.code < 300:
            return BOUND
        if answer.code in (CONFLICT, MISSING) or answer.code >= 500:
            # A pod that an earlier try of ours has bound gets a conflict too.
            return self.read_binding(pod, node, _refusal_text(answer))
        return WriteResult(WriteCode.REFUSED, _refusal_text(answer))

    def read_binding(self, pod: NamedObject, node: str, why: str = "") -> WriteResult:
        """Read from the server whether ``pod`` is bound to ``node``; ``why`` is the reason known so far.

        It asks until there is an answer or its time is over.
        """
        deadline, delay = time.monotonic() + self._look_seconds, FIRST_REST
        while True:
            try:
                answer = self._client.send("GET", pod_path(pod), seconds=self._call_seconds)
                if answer.code in (200, MISSING):
                    return _binding_result(answer, pod, node, why)
                why = why or _refusal_text(answer)
            except ClusterError as error:
                why = why or error.detail
            delay = min(1.0, delay * 2)
            if time.monotonic() + delay > deadline or self._client.stop.wait(delay):
                return WriteResult(WriteCode.UNKNOWN, why)

    # The status of pods.

    def report_unscheduled(
        self, pod: NamedObject, reason: str, message: str, nominated: str | None = None
    ) -> WriteResult:
        """Set the condition PodScheduled=False with ``reason``, and ``nominated`` unless it is None."""
        return self._patch_status(pod, (POD_SCHEDULED, "False", reason, message), nominated)

    def nominate(self, pod: NamedObject, node: str) -> WriteResult:
        """Set status.nominatedNodeName, or clear it with ""."""
        return self._patch_status(pod, None, node)

    def _patch_status(
        self, pod: NamedObject, condition: tuple[str, str, str, str] | None, nominated: str | None
    ) -> WriteResult:
        facts = self._pods.facts_of(pod.uid)
        patch = status_patch(pod.uid, facts, now=_now_text(), condition=condition, nominated=nominated)
        if patch is None:
            return WRITTEN
        return self.persist("PATCH", f"{pod_path(pod)}/status", patch, STRATEGIC)

    # The status of groups of pods.

    def report_group(self, intent: ReportGroup) -> WriteResult:
        """Write the condition of a group."""
        path = BY_NAME[intent.group.object_kind].object_path(intent.group.namespace, intent.group.name)
        return self.persist("PATCH", f"{path}/status", group_status_patch(intent, now=_now_text()), STRATEGIC)

    # Evictions.

    def evict(
        self, victim: NamedObject, preemptor: Preemptor, scheduler: str, *, keep_budgets: bool = False
    ) -> WriteResult:
        """Evict ``victim`` for ``preemptor``: set the condition DisruptionTarget, then delete that very pod.

        kube-scheduler deletes the victim even if a budget forbids it, once no other choice is left. With
        ``keep_budgets`` an eviction is requested instead, which the API server then refuses. The caller writes the
        event if it is done. A victim that is gone already is ``MISSING``, which is as good.
        """
        message = f"{scheduler}: preempting to accommodate a higher priority {preemptor.kind}"
        marked = self._patch_status(victim, (DISRUPTION_TARGET, "True", PREEMPTED_BY_SCHEDULER, message), None)
        if not marked.is_done:
            return marked
        options: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": victim.uid}}
        if not keep_budgets:
            return self.persist("DELETE", pod_path(victim), options)
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": victim.namespace, "name": victim.name},
            "deleteOptions": options,
        }
        return self.persist("POST", f"{pod_path(victim)}/eviction", eviction, patient=False)

    # Sending.

    def read_object(self, path: str) -> WireResponse:
        """Read the object at ``path``. Raise ClusterError if there is no answer."""
        return self._client.send("GET", path, seconds=self._call_seconds)

    def make_object(self, path: str, body: Json) -> tuple[WriteResult, Json]:
        """Create an object, and return how the server stored it. Not retried: it may exist although no answer came."""
        try:
            answer = self._send_request("POST", path, body)
        except ClusterError as error:
            return WriteResult(WriteCode.UNKNOWN if error.reached else WriteCode.REFUSED, error.detail), {}
        if answer is None:
            return WITHHELD, {}
        stored = answer.json() if answer.code < 300 else None
        return (WRITTEN, stored) if isinstance(stored, dict) else (_refused_result(answer), {})

    def persist(self, method: str, path: str, body: Json, content: str = JSON, *, patient: bool = True) -> WriteResult:
        """Make a write that does no harm if it is made twice: it is retried if the server was busy or away."""
        outcome, delay = WITHHELD, FIRST_REST
        for attempt in range(1, TRIES + 1):
            try:
                answer = self._send_request(method, path, body, content, patient=patient)
                if answer is None:
                    return WITHHELD
                if answer.code < 300:
                    return WRITTEN
                outcome = _refused_result(answer)
                should_retry = answer.code >= 500 or outcome.result is WriteCode.CONFLICT
            except ClusterError as error:
                outcome, should_retry = (
                    WriteResult(WriteCode.UNKNOWN if error.reached else WriteCode.REFUSED, error.detail),
                    True,
                )
            # client-go's Jitter of 0.1.
            if not should_retry or attempt == TRIES or self._client.stop.wait(delay * random.uniform(1.0, 1.1)):  # noqa: S311
                return outcome
            delay *= FACTOR
        raise AssertionError

    def _send_request(
        self, method: str, path: str, body: Json, content: str = JSON, *, patient: bool = True
    ) -> WireResponse | None:
        """Send one request when the rate limit allows it, again after a 429. Return None if not leading any more."""
        deadline = time.monotonic() + self._call_seconds
        while True:
            if self._limit is not None and not self._limit.wait_turn(self._client.stop):
                return None
            # Asked after the wait for a token, as leadership may have ended during it.
            if not self._leading():
                return None
            answer = self._client.send(method, path, body, content=content, seconds=self._call_seconds)
            delay = answer.wait or 1.0
            if answer.code != TOO_MANY or not patient or time.monotonic() + delay > deadline:
                return answer
            if self._client.stop.wait(delay):
                return None


def pod_path(pod: NamedObject) -> str:
    return f"/api/v1/namespaces/{quote(pod.namespace, safe='')}/pods/{quote(pod.name, safe='')}"


def _now_text() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _refusal_text(answer: WireResponse) -> str:
    """Return why the server refused, in its own words if an API server answers."""
    return status_text(answer) or status_error(answer.code, "the pod", method="PATCH").detail


def _refused_result(answer: WireResponse) -> WriteResult:
    text = _refusal_text(answer)
    # Another pod has the name now: a deletion answers that with a conflict, a patch with an invalid change.
    another = "Precondition failed: UID" in text or (answer.code == INVALID and "metadata.uid" in text)
    if answer.code == MISSING or another:
        return WriteResult(WriteCode.MISSING, text)
    return WriteResult(WriteCode.CONFLICT if answer.code == CONFLICT else WriteCode.REFUSED, text)


def _binding_result(answer: WireResponse, pod: NamedObject, node: str, why: str) -> WriteResult:
    pod_object = answer.json() if answer.code == 200 else None
    if not isinstance(pod_object, dict) or pod_object.get("metadata", {}).get("uid") != pod.uid:
        return WriteResult(
            WriteCode.MISSING, why or f"There is no pod {pod.namespace}/{pod.name} with this uid any more."
        )
    current_node = (pod_object.get("spec") or {}).get("nodeName") or ""
    if current_node == node:
        return BOUND
    if current_node:
        return WriteResult(WriteCode.CONFLICT, why or f"The pod is already assigned to node {current_node}.")
    if pod_object["metadata"].get("deletionTimestamp") or (pod_object.get("spec") or {}).get("schedulingGates"):
        return WriteResult(WriteCode.CONFLICT, why or "The pod is being deleted or has scheduling gates.")
    return WriteResult(WriteCode.REFUSED, why or "The connection broke, and the pod is not bound.")
