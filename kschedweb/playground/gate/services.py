"""Answers questions of the gate: at once for small clusters, else by a job."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from kschedweb.accounts import audit
from kschedweb.clusters.prices.selectors import table_of
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.patience import NotNow
from kschedweb.engine.studies.document.document import DocumentError
from kschedweb.engine.studies.document.parts import ALL
from kschedweb.engine.studies.gate import gate as engine
from kschedweb.engine.studies.gate import rendering, thresholds
from kschedweb.jobs.inquiries import AT_ONCE_SECONDS, AT_ONCE_SIZE, Step, at_once, refuse_more
from kschedweb.jobs.services import job_start
from kschedweb.playground.gate.models import Gate
from kschedweb.playground.scenarios import selectors as scenarios
from kschedweb.policies.validation import process_of, release_of_record
from kschedweb.watermarks.selectors import current
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.engine.studies.gate.thresholds import Thresholds
    from kschedweb.engine.studies.prepare.prepared import Prepared
    from kschedweb.playground.scenarios.models import ScenarioRevision

AT_ONCE = 1_000_000  # pods to schedule times nodes of an answer at once
SECRETS = frozenset({"keyData", "token"})
LARGEST_SEED = 2**31 - 1

_turn = Lock()


@dataclass(frozen=True)
class GateRequest:
    """A question. Exactly one of ``snapshot``, ``revision`` (of a scenario) and ``objects`` is set; ``about`` names it.

    ``place`` and ``seed`` are those of a scenario's run.
    """

    policy: engine.Policy
    baseline: engine.Policy
    thresholds: Thresholds
    about: str
    snapshot: Snapshot | None = None
    revision: ScenarioRevision | None = None
    objects: list[dict[str, Any]] | None = None
    place: str = ALL
    seed: int = 1


def gate_ask(*, user: User | None, question: GateRequest) -> Gate:
    """Judge a policy; the returned gate has its verdict, or a job that finds it.

    Raises Unprocessable with the problems of policies, thresholds and objects under their paths.
    """
    with refusals():
        for policy, path in ((question.policy, "policy"), (question.baseline, "baseline")):
            configuration, _ = engine.configured(policy, path)
            _no_secret(configuration.document, path)
        try:
            found = _at_once(question)
        except NotNow:
            return _later(user, question)
    return _known(user, question, found)


def gate_do(*, gate: Gate, step: Step) -> dict[str, Any]:
    """Find and store the verdict, unless there is one already; ``step`` gets the progress."""
    if gate.verdict is None:
        step("Reading the cluster", 0, 0)
        question = _again(gate)
        with refusals():
            found = engine.verdict(_prepared(question), _asked(question), progress=step)
        values = {
            "verdict": _storable(found.to_dict()),
            "passed": found.passed,
            "ended_at": timezone.now(),
            "objects_given": None,
        }
        Gate.objects.filter(pk=gate.pk, ended_at=None).update(**values)
        gate.refresh_from_db(fields=["verdict"])
    return {"gate": str(gate.pk), "verdict": (gate.verdict or {}).get("verdict", "")}


def _no_secret(value: Any, path: str) -> None:
    """Refuse a document with a private key or a token, because everyone can read stored documents."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in SECRETS and inner:
                text = f"{key}: holds a secret, which is not needed here: leave it out"
                raise DocumentError([DocumentProblem(path, text)])
            _no_secret(inner, path)
    elif isinstance(value, list | tuple):
        for inner in value:
            _no_secret(inner, path)


def _at_once(question: GateRequest) -> engine.GateVerdict:
    cluster = question.revision.snapshot if question.revision is not None else question.snapshot
    if cluster is not None and cluster.size > AT_ONCE_SIZE:
        raise NotNow
    prepared = _prepared(question)
    nodes, pods = engine.size(prepared)
    if nodes * pods > AT_ONCE:
        raise NotNow
    with at_once(_turn, AT_ONCE_SECONDS) as step:
        return engine.verdict(prepared, _asked(question), progress=step)


@transaction.atomic
def _known(user: User | None, question: GateRequest, found: engine.GateVerdict) -> Gate:
    made = _row(user, question)
    made.verdict, made.passed, made.ended_at = _storable(found.to_dict()), found.passed, timezone.now()
    made.save()
    audit.record(user, "gate.asked", made, f"{made.policy} on {made.about}", passed=found.passed)
    return made


@transaction.atomic
def _later(user: User | None, question: GateRequest) -> Gate:
    refuse_more(Gate, user, "gates")
    made = _row(user, question)
    if question.objects is not None:
        made.objects_given = gzip.compress(json.dumps(question.objects).encode(), 6, mtime=0)
    made.save()
    title = f"Gate: {made.policy} on {made.about}"
    private = question.revision.scenario.private if question.revision else question.snapshot is None
    made.job = job_start("gate.judge", title=title, params={"gate": str(made.pk)}, user=user, private=private)
    made.save(update_fields=["job"])
    audit.record(user, "gate.asked", made, f"{made.policy} on {made.about}")
    return made


def _row(user: User | None, question: GateRequest) -> Gate:
    """Make a new row, and delete old ones."""
    return Gate(
        policy=question.policy.label[:120],
        policy_document=_text(question.policy),
        process=process_of(question.policy.release),
        baseline=question.baseline.label[:120],
        baseline_document=_text(question.baseline),
        baseline_process=process_of(question.baseline.release),
        about=question.about[:300],
        snapshot=question.snapshot,
        revision=question.revision,
        place=question.place,
        seed=question.seed,
        thresholds=question.thresholds.plain,
        created_by=user,
    )


def _storable(value: Any) -> Any:
    """``value`` without characters that some databases refuse and that names of objects may contain."""
    if isinstance(value, dict):
        return {_storable(key): _storable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_storable(inner) for inner in value]
    return rendering.FORBIDDEN.sub("\ufffd", value) if isinstance(value, str) else value


def _text(policy: engine.Policy) -> str:
    return policy.document if isinstance(policy.document, str) else ""


def _again(gate: Gate) -> GateRequest:
    """The question that a stored gate asks."""
    given = None
    if gate.objects_given is not None:
        given = json.loads(gzip.decompress(bytes(gate.objects_given)))
    elif gate.snapshot is None and gate.revision is None:
        raise Unprocessable("The snapshot was deleted before there was a verdict.")
    return GateRequest(
        policy=engine.Policy(gate.policy, gate.policy_document, release_of_record(gate.process)),
        baseline=engine.Policy(gate.baseline, gate.baseline_document or None, release_of_record(gate.baseline_process)),
        thresholds=thresholds.read(gate.thresholds),
        about=gate.about,
        snapshot=gate.snapshot,
        revision=gate.revision,
        objects=given,
        place=gate.place,
        seed=gate.seed,
    )


def _asked(question: GateRequest) -> engine.GateQuestion:
    return engine.GateQuestion(question.policy, question.baseline, question.thresholds, question.about)


def _prepared(question: GateRequest) -> Prepared:
    if question.revision is not None:
        return scenarios.prepared(question.revision, question.seed)
    if question.snapshot is not None:
        taken = question.snapshot.taken_at.timestamp()
        return engine.prepared_of(
            snapshot_objects(question.snapshot),
            place=question.place,
            seed=question.seed,
            now=taken,
            utilisation=current(question.snapshot.cluster, taken),
            prices=table_of(question.snapshot.cluster),
        )
    return engine.prepared_of(question.objects or [], place=question.place, seed=question.seed)


@contextmanager
def refusals() -> Iterator[None]:
    """A context that turns errors of the engine into those of REST and pages."""
    try:
        yield
    except DocumentError as error:
        first = str(error.problems[0]) if error.problems else str(error)
        raise Unprocessable(
            f"{first[:1000].rstrip('.')}.",
            errors=[{"path": one.path, "message": one.text[:1000]} for one in error.problems],
        ) from None
