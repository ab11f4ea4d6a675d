"""Answer questions about capacity: quick ones at once, others by a job. A person can ask one at a time.

Reading an engine snapshot fills its caches, so a snapshot serves one question at a time. If it is in use, a job answers
with its own copy of the snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from kschedweb.clusters.redaction import pod_seen
from kschedweb.clusters.selectors import node_rows, snapshot_objects
from kschedweb.decisions import figures_in_force
from kschedweb.decisions.groups.rules import group_rules, releases_with_groups
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.studies.capacity import buffer, capacity, drain, gangs, sizing
from kschedweb.engine.studies.trying.node_change import NodeChange, NodeChangeEffect, play_node_change
from kschedweb.jobs.inquiries import InquiryKind, Step, Turn, connection_released
from kschedweb.playground.capacity import answers, sentences
from kschedweb.playground.capacity.models import CapacityKind, Question
from kschedweb.playground.capacity.queries import (
    MOST_COPIES,
    BufferQuery,
    DrainQuery,
    FitQuery,
    GangsQuery,
    NodesQuery,
    kind_of,
    query_from_json,
)
from kschedweb.playground.gate.invocation import about_snapshot
from kschedweb.playground.gate.services import translate_errors
from kschedweb.policies.selectors import load_revision, profiles_only
from kschedweb.watermarks.selectors import current_watermarks
from kschedweb.web.errors import ApplicationError, Conflict, Unprocessable
from kschedweb.web.languages import in_english
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.engine.config import Configuration
    from kschedweb.playground.capacity.answers import CapacityAnswer
    from kschedweb.playground.capacity.queries import CapacityQuery
    from kschedweb.policies.models import Revision

# Time that a job has for an answer.
SECONDS = 120.0

KIND = InquiryKind(
    Question,
    "capacity.answer",
    lambda question, step: _find_stored(question, step),
    nouns="capacity",
    single=True,
    verb="capacity.asked",
    result="capacity",
)
# Held while a request of this process computes an answer.
_turn = Turn()
# Engine snapshots by snapshot, version of the figures of use, and view of the release.
_snapshots: LRU[EngineSnapshot] = LRU(2)
_answers: LRU[CapacityAnswer] = LRU(64)
# Keys of people with a question in a request of this process.
_asking: set[int] = set()
_asking_lock = Lock()


class TooLong(Unprocessable):
    """Raised if an answer takes too long."""


def answer_at_once(*, user: User, snapshot: Snapshot, revision: Revision, query: CapacityQuery) -> CapacityAnswer:
    """Return the answer, if it can be found quickly.

    Raises DeadlineExceeded if a job is needed, Conflict while another question of ``user`` is being answered, and
    ApplicationError for an invalid question.
    """
    _workload_seen(snapshot, query)
    rules, notes = rules_of(snapshot, revision, query)
    # The figures of use are part of the key, since plugins that read them answer differently after each update.
    key = (revision.pk, rules.release.title, query, snapshot.pk, figures_in_force.figures_version(snapshot))
    cached = _answers.peek(key)
    if cached is not None:
        return cached
    with _one_at_a_time(user), _turn.take(snapshot.size) as step:

        def load_engine() -> EngineSnapshot:
            key_of_read = snapshot.pk, figures_in_force.figures_version(snapshot), rules.release.view
            return _snapshots.get(key_of_read, lambda: _load_snapshot(snapshot, rules))

        answer = _find_answer(snapshot, rules, query, step, load_engine, notes=notes)
    _answers.put(key, answer)
    return answer


def question_ask(*, user: User, snapshot: Snapshot, revision: Revision, query: CapacityQuery) -> Question:
    """Start a job that answers; raise Conflict while another question of ``user`` is being answered."""
    _workload_seen(snapshot, query)
    question = Question(
        kind=kind_of(query),
        asked=asdict(query),
        snapshot=snapshot,
        about=about_snapshot(snapshot),
        revision=revision,
        policy=sentences.revision_label(revision),
        created_by=user,
    )
    # Titles of jobs and the audit log are stored, and so in English.
    kind = in_english(CapacityKind(question.kind).label)
    return KIND.ask(question, f"Capacity: {kind.lower()}, {question.about}", f"{kind}, {question.about}")


def _find_stored(question: Question, step: Step) -> Json:
    """Return the fields of ``question`` that its answer fills."""
    if question.snapshot is None or question.revision is None:
        raise Unprocessable("The snapshot or the policy was deleted before there was an answer.")
    step("Reading the cluster", 0, 0)
    query = query_from_json(question.kind, question.asked)
    rules, notes = rules_of(question.snapshot, question.revision, query)
    load_engine = partial(_load_snapshot, question.snapshot, rules)
    answer = _find_answer(question.snapshot, rules, query, step, load_engine, SECONDS, notes)
    fields = {"sentence": sentences.answer_sentence(answer), "engine": rules.release.engine}
    return {**fields, "content": answers.pack_answer(answer)}


def clear_caches() -> None:
    """Clear the caches; for tests, which use primary keys again."""
    _snapshots.clear()
    _answers.clear()


def _workload_seen(snapshot: Snapshot, query: CapacityQuery) -> None:
    """Raise NotFound if ``query`` names a workload in a namespace that the asking person may not see."""
    if isinstance(query, FitQuery | GangsQuery) and query.pod.workload:
        pod_seen(snapshot, query.pod.workload, "workload")


@contextmanager
def _one_at_a_time(user: User) -> Iterator[None]:
    """Refuse a second question of ``user`` while the context is open; raise Conflict."""
    # Refuses while a job works on another question; the set below covers requests of this process.
    KIND.refuse(user)
    with _asking_lock:
        if user.pk in _asking:
            raise Conflict("Another question of yours about capacity is being worked on: ask again in a moment.")
        _asking.add(user.pk)
    try:
        yield
    finally:
        _asking.discard(user.pk)


def rules_of(snapshot: Snapshot, revision: Revision, query: CapacityQuery) -> tuple[Configuration, tuple[str, ...]]:
    """Return the configuration that answers, and notes on it: for gangs, the feature gates that they need are on.

    Raises ApplicationError for a policy that cannot answer, such as a classic one about gangs.
    """
    if not isinstance(query, GangsQuery):
        return load_revision(revision, snapshot.cluster.server_version), ()
    profiles_only(revision, "policy")
    rules = group_rules(revision, snapshot.cluster.server_version, query.required_gates, switch=True)
    if not rules.able:
        release, gate_names = rules.configuration.release.name, ", ".join(releases_with_groups())
        message = f"kube-scheduler {release} does not schedule gangs: choose a policy that names {gate_names}."
        raise ApplicationError.at("policy", f"{sentences.revision_label(revision)}: {message}")
    return rules.configuration, (rules.note,) if rules.switched else ()


def _load_snapshot(snapshot: Snapshot, rules: Configuration) -> EngineSnapshot:
    """Return the engine snapshot of a stored snapshot for ``rules``, separate from the one that decisions use."""
    return figures_in_force.apply_figures(rules.release.build_snapshot(snapshot_objects(snapshot)), snapshot)


def _find_answer(
    snapshot: Snapshot,
    rules: Configuration,
    query: CapacityQuery,
    step: Step,
    load_engine: Callable[[], EngineSnapshot],
    seconds: float = float("inf"),
    notes: tuple[str, ...] = (),
) -> CapacityAnswer:
    """Return the answer, from the engine's snapshot or from a simulation of the objects."""
    if isinstance(query, NodeChange):
        return _answer_change(snapshot, rules, query, step, seconds)
    return _worked_out(load_engine(), rules, query, step, seconds, notes)


def _answer_change(
    snapshot: Snapshot, rules: Configuration, query: NodeChange, step: Step, seconds: float
) -> NodeChangeEffect:
    """Return the effect of losing or adding nodes; raise TooLong after ``seconds``.

    This one simulates the cluster, so that controllers replace the pods of lost nodes.
    """
    names = set(node_rows(snapshot).values_list("name", flat=True))
    _require_nodes("lost", query.lost, names)
    _require_nodes("like", (query.like,) if query.added else (), names)
    taken_at = snapshot.taken_at.timestamp()
    objects, figures = snapshot_objects(snapshot), current_watermarks(snapshot.cluster, taken_at)
    # As for the other questions, below.
    connection_released()
    deadline = monotonic() + seconds

    def report_progress(text: str, completed: int, total: int) -> None:
        step(text, completed, total)
        _check_deadline(deadline, "Ask about fewer nodes.")

    with translate_errors():
        return play_node_change(objects, rules, query, report_progress, now=taken_at, utilisation=figures)


def _require_nodes(field: str, names: tuple[str, ...], present: Container[str]) -> None:
    """Raise ApplicationError at ``field`` if one of the nodes ``names`` is not ``present``."""
    missing = [name for name in names if name not in present]
    if missing:
        raise ApplicationError.at(field, f"The snapshot has no node {', '.join(missing[:5])}.")


def _worked_out(
    engine: EngineSnapshot,
    rules: Configuration,
    query: FitQuery | GangsQuery | NodesQuery | BufferQuery | DrainQuery,
    step: Step,
    seconds: float,
    notes: tuple[str, ...],
) -> CapacityAnswer:
    """Return the answer, with ``notes`` about gangs. Needs no database.

    After ``seconds`` the answer is a lower bound for pods and gangs, if any fits; otherwise TooLong is raised.
    """
    # The computation takes up to minutes, and the connection would be held idle.
    connection_released()
    deadline = monotonic() + seconds
    try:
        if isinstance(query, FitQuery):
            return _answer_fit(engine, rules, query, step, deadline)
        if isinstance(query, GangsQuery):
            return _answer_gangs(engine, rules, query, step, deadline, notes)
        if isinstance(query, NodesQuery):
            return _answer_nodes(
                engine, rules, query, _make_pulse(step, deadline, "Ask about fewer pods, or allow fewer nodes.")
            )
        if isinstance(query, BufferQuery):
            return _answer_buffer(
                engine, rules, query, _make_pulse(step, deadline, "Ask about fewer nodes, or a higher priority.")
            )
        return _answer_drain(engine, rules, query, _make_pulse(step, deadline, "Ask about fewer nodes."))
    except ObjectError as error:
        raise Unprocessable(str(error)) from None


def _answer_fit(
    engine: EngineSnapshot, rules: Configuration, query: FitQuery, step: Step, deadline: float
) -> capacity.CapacityFit:
    """Place pods until the deadline or the limit; raise Unprocessable if not even the first cycle works."""

    def report_progress(placed: int) -> bool:
        step("Placing pods", placed, query.limit)
        # The first pod is placed however long it takes, so that there is an answer.
        return not placed or monotonic() < deadline

    answer = capacity.fit_clones(engine, rules, query.pod.to_shape(engine), limit=query.limit, check=report_progress)
    if answer.failed and not answer.count:
        raise Unprocessable(f"The scheduling cycle of such a pod fails: {answer.message}")
    return answer


def _answer_gangs(
    engine: EngineSnapshot,
    rules: Configuration,
    query: GangsQuery,
    step: Step,
    deadline: float,
    notes: tuple[str, ...],
) -> gangs.GangFit:
    """Place gangs until the deadline or the limit; raise TooLong if not even the first is placed in time."""

    def report_progress(placed: int, _attempts: int) -> bool:
        step("Placing gangs", placed, query.limit)
        return monotonic() < deadline

    answer = gangs.fit_gangs(engine, rules, query.to_gang(engine), limit=query.limit, check=report_progress)
    if answer.stopped and not answer.count:
        raise TooLong(f"The first gang takes longer than {SECONDS:.0f} s to place. Ask about a smaller one.")
    if answer.failed and not answer.count:
        raise Unprocessable(f"The scheduling cycle of such a gang fails: {answer.message}")
    return replace(answer, notes=(*notes, *answer.notes))


def _answer_nodes(
    engine: EngineSnapshot, rules: Configuration, query: NodesQuery, pulse: Callable[[], None]
) -> sizing.Sizing:
    pods = query.list_pods(engine)
    if len(pods) > MOST_COPIES:
        raise ApplicationError.at("copies", f"At most {MOST_COPIES} pods at a time; these are {len(pods)}.")
    return sizing.compute_sizing(engine, rules, pods, query.node.to_shape(engine), max_nodes=query.most, pulse=pulse)


def _answer_buffer(
    engine: EngineSnapshot, rules: Configuration, query: BufferQuery, pulse: Callable[[], None]
) -> buffer.Buffer:
    return buffer.compute_buffer(
        engine, rules, zones=query.zones, largest=query.largest, priority=query.priority, pulse=pulse
    )


def _answer_drain(
    engine: EngineSnapshot, rules: Configuration, query: DrainQuery, pulse: Callable[[], None]
) -> drain.Rehearsal:
    _require_nodes("nodes", query.nodes, engine.index)
    return drain.rehearse_drain(engine, rules, query.nodes, query.options, keep_order=query.keep_order, pulse=pulse)


def _make_pulse(step: Step, deadline: float, advice: str) -> Callable[[], None]:
    """Return a callback that reports progress, and raises TooLong with ``advice`` after the deadline."""
    attempts = 0

    def pulse() -> None:
        nonlocal attempts
        attempts += 1
        step("Placing pods", attempts, 0)
        _check_deadline(deadline, advice)

    return pulse


def _check_deadline(deadline: float, advice: str) -> None:
    """Raise TooLong with ``advice`` after the deadline."""
    if monotonic() > deadline:
        raise TooLong(f"This takes longer than {SECONDS:.0f} s, and was given up. {advice}")
