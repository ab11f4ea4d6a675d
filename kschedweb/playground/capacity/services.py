"""Answers questions about capacity: quick ones at once, others by a job. A person can ask one at a time.

Reading an engine snapshot fills its caches, so a snapshot serves one question at a time. If it is in use, a job answers
with its own copy of the snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from django.db import transaction

from kschedweb.accounts import audit
from kschedweb.clusters.seen import pod_seen
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions import utilisation
from kschedweb.decisions.groups.rules import able, group_rules
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.objects.access import ObjectError
from kschedweb.engine.patience import NotNow
from kschedweb.engine.studies.capacity import buffer, capacity, drain, gangs, sizing
from kschedweb.jobs.inquiries import (
    AT_ONCE_SECONDS,
    AT_ONCE_SIZE,
    Step,
    answer_store,
    ask_job,
    at_once,
    connection_released,
    refuse_second,
)
from kschedweb.playground.capacity import answers, words
from kschedweb.playground.capacity.models import Kind, Question
from kschedweb.playground.capacity.questions import (
    MOST_COPIES,
    BufferAsked,
    DrainAsked,
    FitAsked,
    GangsAsked,
    NodesAsked,
    asked_of,
    kind_of,
)
from kschedweb.playground.gate.words import about_snapshot
from kschedweb.policies.selectors import profiles_only, runs
from kschedweb.web.errors import ApplicationError, Conflict, Unprocessable
from kschedweb.web.languages import in_english
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.engine.config import Configuration
    from kschedweb.playground.capacity.answers import Found
    from kschedweb.playground.capacity.questions import Asked
    from kschedweb.policies.models import Revision

SECONDS = 120.0  # for a job

_turn = Lock()
_snapshots: LRU[EngineSnapshot] = LRU(2)
_answers: LRU[Found] = LRU(64)
_asking: set[int] = set()  # people with a question in a request of this process
_asking_lock = Lock()


class TooLong(Unprocessable):
    """The answer took too long."""


def answer_at_once(*, user: User, snapshot: Snapshot, revision: Revision, asked: Asked) -> Found:
    """The answer, if it can be found quickly.

    Raises NotNow if a job is needed, Conflict while another question of ``user`` is being answered, and
    ApplicationError for an invalid question.
    """
    _workload_seen(snapshot, asked)
    rules, notes = rules_of(snapshot, revision, asked)
    key = (revision.pk, rules.release.title, asked, snapshot.pk, utilisation.version(snapshot))
    known = _answers.peek(key)
    if known is not None:
        return known
    with _one_at_a_time(user):
        if snapshot.size > AT_ONCE_SIZE:
            raise NotNow
        with at_once(_turn, AT_ONCE_SECONDS) as step:
            key_of_read = snapshot.pk, utilisation.version(snapshot), rules.release.view
            engine = _snapshots.get(key_of_read, lambda: _engine(snapshot, rules))
            found = _worked_out(engine, rules, asked, step, notes=notes)
    _answers.put(key, found)
    return found


@transaction.atomic
def question_ask(*, user: User, snapshot: Snapshot, revision: Revision, asked: Asked) -> Question:
    """Start a job that answers; raises Conflict while another question of ``user`` is being answered."""
    _workload_seen(snapshot, asked)
    made = Question(
        kind=kind_of(asked),
        asked=asdict(asked),
        snapshot=snapshot,
        about=about_snapshot(snapshot),
        revision=revision,
        policy=words.label(revision),
        created_by=user,
    )
    kind = in_english(Kind(made.kind).label)
    title = f"Capacity: {kind.lower()}, {made.about}"
    ask_job(made, kind="capacity.answer", title=title, refuse=lambda: refuse_second(Question, user, "capacity"))
    audit.record(user, "capacity.asked", made, f"{kind}, {made.about}")
    return made


def question_answer(*, question: Question, step: Step) -> dict[str, Any]:
    """Find and store the answer, unless there is one already; ``step`` gets the progress."""
    if question.content is None:
        if question.snapshot is None or question.revision is None:
            raise Unprocessable("The snapshot or the policy was deleted before there was an answer.")
        step("Reading the cluster", 0, 0)
        asked = asked_of(question.kind, question.asked)
        rules, notes = rules_of(question.snapshot, question.revision, asked)
        engine = _engine(question.snapshot, rules)
        found = _worked_out(engine, rules, asked, step, SECONDS, notes)
        told = {"sentence": words.sentence(found), "engine": rules.release.engine}
        answer_store(question, content=answers.packed(found), **told)
    return {"capacity": str(question.pk), "answer": question.sentence}


def forget() -> None:
    """Clear the caches; for tests, which use primary keys again."""
    _snapshots.clear()
    _answers.clear()


def _workload_seen(snapshot: Snapshot, asked: Asked) -> None:
    """Raise NotFound where ``asked`` is about a workload of a namespace that who asks does not see."""
    if isinstance(asked, FitAsked | GangsAsked) and asked.pod.workload:
        pod_seen(snapshot, asked.pod.workload, "workload")


@contextmanager
def _one_at_a_time(user: User) -> Iterator[None]:
    refuse_second(Question, user, "capacity")
    with _asking_lock:
        if user.pk in _asking:
            raise Conflict("Another question of yours about capacity is being worked on: ask again in a moment.")
        _asking.add(user.pk)
    try:
        yield
    finally:
        _asking.discard(user.pk)


def rules_of(snapshot: Snapshot, revision: Revision, asked: Asked) -> tuple[Configuration, tuple[str, ...]]:
    """What runs, and what has to be said of it: for gangs the feature gates that they need are on in any case.

    Raises ApplicationError for a policy that cannot answer, such as a classic one about gangs.
    """
    if not isinstance(asked, GangsAsked):
        return runs(revision, snapshot.cluster.server_version), ()
    profiles_only(revision, "policy")
    rules = group_rules(revision, snapshot.cluster.server_version, asked.gates, switch=True)
    if not rules.able:
        release, named = rules.configuration.release.name, ", ".join(able())
        said = f"kube-scheduler {release} does not schedule gangs: choose a policy that names {named}."
        raise ApplicationError.at("policy", f"{words.label(revision)}: {said}")
    return rules.configuration, (rules.note,) if rules.switched else ()


def _engine(snapshot: Snapshot, rules: Configuration) -> EngineSnapshot:
    """The engine snapshot of a stored snapshot for ``rules``, separate from that of decisions."""
    return utilisation.applied(rules.release.seen(snapshot_objects(snapshot)), snapshot)


def _worked_out(
    engine: EngineSnapshot,
    rules: Configuration,
    asked: Asked,
    step: Step,
    seconds: float = float("inf"),
    notes: tuple[str, ...] = (),
) -> Found:
    """The answer, with ``notes`` about gangs. Needs no database.

    After ``seconds`` it is a lower bound for pods and gangs, if one fits; otherwise TooLong is raised.
    """
    connection_released()
    until = monotonic() + seconds
    try:
        if isinstance(asked, FitAsked):
            return _fit(engine, rules, asked, step, until)
        if isinstance(asked, GangsAsked):
            return _gangs(engine, rules, asked, step, until, notes)
        if isinstance(asked, NodesAsked):
            return _nodes(engine, rules, asked, _pulse(step, until, "Ask about fewer pods, or allow fewer nodes."))
        if isinstance(asked, BufferAsked):
            return _buffer(engine, rules, asked, _pulse(step, until, "Ask about fewer nodes, or a higher priority."))
        return _drain(engine, rules, asked, _pulse(step, until, "Ask about fewer nodes."))
    except ObjectError as error:
        raise Unprocessable(str(error)) from None


def _fit(engine: EngineSnapshot, rules: Configuration, asked: FitAsked, step: Step, until: float) -> capacity.Fit:
    def check(done: int) -> bool:
        step("Placing pods", done, asked.limit)
        return not done or monotonic() < until

    found = capacity.fit(engine, rules, asked.pod.shape(engine), limit=asked.limit, check=check)
    if found.failed and not found.count:
        raise Unprocessable(f"The scheduling cycle of such a pod fails: {found.message}")
    return found


def _gangs(
    engine: EngineSnapshot,
    rules: Configuration,
    asked: GangsAsked,
    step: Step,
    until: float,
    notes: tuple[str, ...],
) -> gangs.GangFit:
    def check(done: int, _tried: int) -> bool:
        step("Placing gangs", done, asked.limit)
        return monotonic() < until

    found = gangs.fit_gangs(engine, rules, asked.gang(engine), limit=asked.limit, check=check)
    if found.stopped and not found.count:
        raise TooLong(f"The first gang takes longer than {SECONDS:.0f} s to place. Ask about a smaller one.")
    if found.failed and not found.count:
        raise Unprocessable(f"The scheduling cycle of such a gang fails: {found.message}")
    return replace(found, notes=(*notes, *found.notes))


def _nodes(engine: EngineSnapshot, rules: Configuration, asked: NodesAsked, pulse: Callable[[], None]) -> sizing.Sizing:
    pods = asked.pods(engine)
    if len(pods) > MOST_COPIES:
        raise ApplicationError.at("copies", f"At most {MOST_COPIES} pods at a time; these are {len(pods)}.")
    return sizing.size(engine, rules, pods, asked.node.shape(engine), most=asked.most, pulse=pulse)


def _buffer(
    engine: EngineSnapshot, rules: Configuration, asked: BufferAsked, pulse: Callable[[], None]
) -> buffer.Buffer:
    parts: dict[str, Any] = {"zones": asked.zones, "largest": asked.largest, "priority": asked.priority}
    return buffer.buffer(engine, rules, **parts, pulse=pulse)


def _drain(
    engine: EngineSnapshot, rules: Configuration, asked: DrainAsked, pulse: Callable[[], None]
) -> drain.Rehearsal:
    unknown = [name for name in asked.nodes if name not in engine.index]
    if unknown:
        raise ApplicationError.at("nodes", f"The snapshot has no node {', '.join(unknown[:5])}.")
    return drain.rehearse(engine, rules, asked.nodes, asked.options, keep_order=asked.keep_order, pulse=pulse)


def _pulse(step: Step, until: float, advice: str) -> Callable[[], None]:
    tried = 0

    def pulse() -> None:
        nonlocal tried
        tried += 1
        step("Placing pods", tried, 0)
        if monotonic() > until:
            raise TooLong(f"This takes longer than {SECONDS:.0f} s, and was given up. {advice}")

    return pulse
