"""Answer questions of the gate: at once for small clusters, else by a job."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import transaction

from kschedweb.accounts import audit
from kschedweb.clusters.prices.selectors import table_of
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.document.parts import ALL
from kschedweb.engine.studies.gate import gate as engine
from kschedweb.engine.studies.gate import rendering, thresholds
from kschedweb.jobs.inquiries import InquiryKind, Step, Turn, refuse_large
from kschedweb.jobs.models import ENDED
from kschedweb.playground.gate.models import Gate
from kschedweb.playground.scenarios import selectors as scenarios
from kschedweb.policies.validation import process_of, release_of_record
from kschedweb.watermarks.selectors import current_watermarks
from kschedweb.web.errors import Conflict, Unprocessable

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.engine.studies.gate.thresholds import Thresholds
    from kschedweb.engine.studies.prepare.prepared import PreparedScenario
    from kschedweb.playground.scenarios.models import ScenarioRevision

# Pods to schedule times nodes, up to which an answer is given at once.
AT_ONCE = 1_000_000
# Fields of a policy's document that hold a private key or a token.
SECRETS = frozenset({"keyData", "token"})
# Largest value of a positive integer column.
LARGEST_SEED = 2**31 - 1
KIND = InquiryKind(
    Gate,
    "gate.judge",
    lambda gate, step: _find_verdict(gate, step),
    nouns="gates",
    verb="gate.asked",
    related=("snapshot__cluster", "revision__scenario"),
    parameter="gate",
    result="gate",
    tell=lambda gate: {"verdict": (gate.verdict or {}).get("verdict", "")},
    missing="The gate was deleted before there was a verdict.",
)
# Held while a request of this process computes a verdict.
_turn = Turn()


@dataclass(frozen=True)
class GateRequest:
    """A question to the gate. Exactly one of ``snapshot``, ``revision`` and ``objects`` is set."""

    policy: engine.GatePolicy
    baseline: engine.GatePolicy
    thresholds: Thresholds
    # Label of the cluster or scenario.
    subject: str
    snapshot: Snapshot | None = None
    # Revision of a scenario.
    revision: ScenarioRevision | None = None
    # Raw Kubernetes objects that were sent.
    objects: list[Json] | None = None
    # Pods that are placed: ALL or PENDING.
    place: str = ALL
    seed: int = 1


def gate_ask(*, user: User | None, question: GateRequest) -> Gate:
    """Judge a policy; the returned gate has its verdict, or a job that finds it.

    Raises Unprocessable with the problems of policies, thresholds and objects under their paths.
    """
    with translate_errors():
        for policy, path in ((question.policy, "policy"), (question.baseline, "baseline")):
            configuration, _ = engine.load_configuration(policy, path)
            _no_secret(configuration.document, path)
        gate = _new_gate(user, question)
        try:
            verdict = _at_once(gate, question)
        except DeadlineExceeded:
            return gate_queue(user=user, question=question)
    return KIND.save_answered(gate, _gate_title(gate), _answer_fields(verdict), passed=verdict.passed)


def _find_verdict(gate: Gate, step: Step) -> Json:
    step("Reading the cluster", 0, 0)
    question = _request_from_gate(gate)
    with translate_errors():
        verdict = engine.compute_verdict(_prepare_scenario(question), _to_engine_question(question), progress=step)
    return _answer_fields(verdict)


def _answer_fields(verdict: engine.GateVerdict) -> Json:
    """Return the fields of a gate that its verdict fills."""
    return {"verdict": _to_storable(verdict.to_dict()), "passed": verdict.passed, "objects_given": None}


@transaction.atomic
def gate_delete(*, user: User | None, gate: Gate) -> None:
    """Delete a question with its verdict. Raise Conflict while a job works on it."""
    if gate.ended_at is None and gate.job is not None and gate.job.state not in ENDED:
        raise Conflict("The policy is still being checked: cancel the job first.")
    audit.record(user, "gate.deleted", gate, _gate_title(gate), passed=gate.passed)
    gate.delete()


def _gate_title(gate: Gate) -> str:
    return f"{gate.policy} on {gate.about}"


def _no_secret(value: Any, path: str) -> None:
    """Refuse a document with a private key or a token, because everyone can read stored documents."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in SECRETS and inner:
                text = f"{key}: holds a secret, which is not needed here: leave it out"
                raise ScenarioError([DocumentProblem(path, text)])
            _no_secret(inner, path)
    elif isinstance(value, list | tuple):
        for inner in value:
            _no_secret(inner, path)


def _at_once(gate: Gate, question: GateRequest) -> engine.GateVerdict:
    """Return the verdict; raise DeadlineExceeded if a request cannot find it in time."""
    refuse_large(gate.size)
    prepared = _prepare_scenario(question)
    nodes, pods = engine.count_nodes_and_pods(prepared)
    if nodes * pods > AT_ONCE:
        raise DeadlineExceeded
    with _turn.take() as step:
        return engine.compute_verdict(prepared, _to_engine_question(question), progress=step)


def gate_queue(*, user: User | None, question: GateRequest, id: UUID | None = None) -> Gate:
    """Save the question and start a job that judges. ``id`` is for an example of the site."""
    gate = _new_gate(user, question)
    gate.pk = id or gate.pk
    if question.objects is not None:
        gate.objects_given = gzip.compress(json.dumps(question.objects).encode(), 6, mtime=0)
    # Objects that were sent may be of a cluster that others may not see.
    return KIND.ask(gate, f"Gate: {_gate_title(gate)}", _gate_title(gate), private=gate.private)


def _new_gate(user: User | None, question: GateRequest) -> Gate:
    """Return a new row for the question, which is not saved yet."""
    return Gate(
        policy=question.policy.label[:120],
        policy_document=_document_text(question.policy),
        process=process_of(question.policy.release),
        baseline=question.baseline.label[:120],
        baseline_document=_document_text(question.baseline),
        baseline_process=process_of(question.baseline.release),
        about=question.subject[:300],
        snapshot=question.snapshot,
        revision=question.revision,
        place=question.place,
        seed=question.seed,
        thresholds=question.thresholds.plain,
        created_by=user,
    )


def _to_storable(value: Any) -> Any:
    """Return ``value`` without characters that some databases refuse and that names of objects may contain."""
    if isinstance(value, dict):
        return {_to_storable(key): _to_storable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_to_storable(inner) for inner in value]
    return rendering.FORBIDDEN.sub("\ufffd", value) if isinstance(value, str) else value


def _document_text(policy: engine.GatePolicy) -> str:
    return policy.document if isinstance(policy.document, str) else ""


def _request_from_gate(gate: Gate) -> GateRequest:
    """Return the question of a stored gate."""
    objects = None
    if gate.objects_given is not None:
        objects = json.loads(gzip.decompress(bytes(gate.objects_given)))
    elif gate.snapshot is None and gate.revision is None:
        raise Unprocessable("The snapshot was deleted before there was a verdict.")
    return GateRequest(
        policy=engine.GatePolicy(gate.policy, gate.policy_document, release_of_record(gate.process)),
        baseline=engine.GatePolicy(
            gate.baseline, gate.baseline_document or None, release_of_record(gate.baseline_process)
        ),
        thresholds=thresholds.read_thresholds(gate.thresholds),
        subject=gate.about,
        snapshot=gate.snapshot,
        revision=gate.revision,
        objects=objects,
        place=gate.place,
        seed=gate.seed,
    )


def _to_engine_question(question: GateRequest) -> engine.GateQuestion:
    return engine.GateQuestion(question.policy, question.baseline, question.thresholds, question.subject)


def _prepare_scenario(question: GateRequest) -> PreparedScenario:
    """Return the prepared scenario of the question's cluster."""
    if question.revision is not None:
        return scenarios.prepare_revision(question.revision, question.seed)
    if question.snapshot is not None:
        return prepare_snapshot(question.snapshot, (question.place,), question.seed)[question.place]
    return engine.prepared_of(question.objects or [], place=question.place, seed=question.seed)


def prepare_snapshot(snapshot: Snapshot, places: tuple[str, ...], seed: int) -> dict[str, PreparedScenario]:
    """Return prepared scenarios of the cluster as it was then, by which pods they place (PENDING or ALL)."""
    now, prices = snapshot.taken_at.timestamp(), table_of(snapshot.cluster)
    objects, figures = snapshot_objects(snapshot), current_watermarks(snapshot.cluster, now)
    return {
        place: engine.prepared_of(objects, place=place, seed=seed, now=now, utilisation=figures, prices=prices)
        for place in places
    }


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn errors of the engine into those of REST and pages, as a context manager."""
    try:
        yield
    except ScenarioError as error:
        first = str(error.problems[0]) if error.problems else str(error)
        raise Unprocessable(
            f"{first[:1000].rstrip('.')}.",
            errors=[{"path": problem.path, "message": problem.text[:1000]} for problem in error.problems],
        ) from None
