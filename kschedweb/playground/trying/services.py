"""Try changes of policies: at once on small clusters, else by a job. A tried change can be saved, judged, or
compared."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext

from kschedweb.clusters.prices.selectors import sheet_get
from kschedweb.decisions import figures_in_force
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded
from kschedweb.engine.studies.document.parts import ALL, PENDING
from kschedweb.engine.studies.gate import gate as engine
from kschedweb.engine.studies.trying.policy_effect import play_both
from kschedweb.jobs.inquiries import InquiryKind, Turn, pack_answer, refuse_large
from kschedweb.playground.gate.invocation import about_scenario, about_snapshot
from kschedweb.playground.gate.services import AT_ONCE, GateRequest, gate_ask, prepare_snapshot, translate_errors
from kschedweb.playground.runs.run_policies import RunPolicy
from kschedweb.playground.runs.services import comparison_start
from kschedweb.playground.scenarios import selectors as scenarios
from kschedweb.playground.trying import sentences
from kschedweb.playground.trying.changes import Content
from kschedweb.playground.trying.models import TriedChange
from kschedweb.playground.trying.snapshot_scenarios import scenario_of
from kschedweb.policies.dialects import DIALECTS
from kschedweb.policies.selectors import process_of_run
from kschedweb.policies.services import content_checked, policy_create, revision_save
from kschedweb.policies.validation import release_of_record
from kschedweb.web.errors import ApplicationError, Conflict, Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.engine.studies.gate.thresholds import Thresholds
    from kschedweb.engine.studies.play.outcome import RunOutcome
    from kschedweb.engine.studies.prepare.prepared import PreparedScenario
    from kschedweb.jobs.inquiries import Step
    from kschedweb.playground.gate.models import Gate
    from kschedweb.playground.runs.models import Comparison
    from kschedweb.playground.scenarios.models import ScenarioRevision
    from kschedweb.policies.models import Revision

READING = "Reading the cluster"
# The steps of a job, in order, as it reports them.
PLAY_STEPS = ("{} under the current policy:", "{} under the changed policy:", "{} that move, explained:")
# Both policies are played with the same seed, so that ties are broken alike.
SEED = 1
PLACE_LABELS = {PENDING: "Pending pods", ALL: "All pods"}
# For an answer at once: the demo takes 1.2 s of one core, and twice as long on a busy machine.
SECONDS = 5.0
# For a slider, which takes a third of that; nearly as long as a page may compute.
PREVIEW_SECONDS = 12.0
# Clusters on which sliders are answered while they move, and the moves that are explained then.
MOST_PREVIEW_NODES, MOST_PREVIEW_REASONS = 200, 10
KIND = InquiryKind(
    TriedChange,
    "trying.answer",
    lambda tried_change, step: _find_answer(tried_change, step),
    nouns="tried changes",
    verb="change.tried",
    related=("snapshot__cluster", "revision__scenario"),
    parameter="tried",
    result="tried",
    missing="The change was deleted before there was an answer.",
)
# Held while a request of this process computes an answer.
_turn = Turn()
# Of small snapshots, on which one change follows the other.
_prepared: LRU[dict[str, PreparedScenario]] = LRU(2)
# Answers that sliders have shown.
_previews: LRU[Json] = LRU(16)
# Outcomes under the current policy, which a further change is compared with.
_outcomes: LRU[dict[str, RunOutcome]] = LRU(4)


@dataclass(frozen=True)
class TryRequest:
    """A change to try: the ``content`` that it makes of ``base``, on a ``snapshot`` or a ``revision`` of a scenario."""

    base: Revision
    content: Content
    snapshot: Snapshot | None = None
    revision: ScenarioRevision | None = None
    # A pod whose node the answer tells, as namespace/name; "" for none.
    pod: str = ""

    @property
    def version(self) -> str:
        """The version of the cluster on which it is tried; "" if it is unknown."""
        if self.snapshot is not None:
            return self.snapshot.cluster.server_version
        return "" if self.revision is None else scenarios.cluster_version(self.revision)


def change_try(*, user: User | None, request: TryRequest) -> TriedChange:
    """Try a change; the returned row has its answer, or a job that finds it.

    Raises InvalidPolicyDocument with problems at lines, and ApplicationError at "change" if nothing changes.
    """
    tried_change = _new_row(user, request)
    with translate_errors():
        _engine_policies(tried_change)
        try:
            return _save_answered(tried_change, _at_once(tried_change))
        except DeadlineExceeded:
            title = _change_title(tried_change)
            return KIND.ask(tried_change, f"Try: {title}"[:200], title, private=tried_change.private)


def change_preview(*, request: TryRequest) -> Json:
    """Return the answer for a change that is not stored, such as a slider's; also for none.

    Raise DeadlineExceeded where a request cannot find it in time, and ApplicationError as ``change_try``.
    """
    tried_change = _new_row(None, request, may_equal=True)
    with translate_errors():
        _engine_policies(tried_change)
        return _at_once(tried_change, preview=True)


def list_steps(tried_change: TriedChange) -> list[str]:
    """Return the steps of the job that answers, in order, as its progress names them."""
    places = (PENDING, ALL) if tried_change.snapshot_id else (ALL,)
    return [READING, *(step.format(PLACE_LABELS[place]) for place in places for step in PLAY_STEPS)]


def _find_answer(tried_change: TriedChange, step: Step) -> Json:
    step(READING, 0, 0)
    with translate_errors():
        return _answer_fields(_worked_out(tried_change, _prepare_plays(tried_change), step))


def change_worked_out(*, user: User | None, request: TryRequest, step: Step) -> TriedChange:
    """Try a change within a job that runs already, however long it takes; raise as ``change_try`` does."""
    tried_change = _new_row(user, request)
    with translate_errors():
        _engine_policies(tried_change)
        return _save_answered(tried_change, _worked_out(tried_change, _prepare_plays(tried_change), step))


@transaction.atomic
def change_save(*, user: User, tried_change: TriedChange, name: str = "", comment: str = "") -> Revision:
    """Save the changed policy: as the next revision of the base, or as a draft, a new policy called ``name``.

    Raises PreconditionFailed if the base has a newer revision, and Conflict if a policy has that name or the base is
    gone.
    """
    comment_text = comment or f"Tried on {tried_change.about}: {tried_change.change}"[:500]
    if name:
        description = f"Draft of a change of {tried_change.policy}"
        content = {"document": tried_change.document, "process": tried_change.process}
        policy = policy_create(name=name, description=description, author=user, comment=comment_text, **content)
        return policy.revisions.order_by("-number")[0]
    base = _get_base(tried_change)
    return revision_save(
        policy=base.policy,
        document=tried_change.document,
        process=tried_change.process,
        author=user,
        expected=base.number,
        comment=comment_text,
    )


def change_judge(*, user: User, tried_change: TriedChange, thresholds: Thresholds) -> Gate:
    """Ask the gate to judge the changed policy against the current one, on the same cluster or scenario."""
    policy, baseline = _engine_policies(tried_change)
    question = GateRequest(
        policy=policy,
        baseline=baseline,
        thresholds=thresholds,
        subject=tried_change.about,
        snapshot=tried_change.snapshot,
        revision=tried_change.revision,
    )
    return gate_ask(user=user, question=question)


@transaction.atomic
def change_compare(*, user: User, tried_change: TriedChange, scenario: ScenarioRevision | None = None) -> Comparison:
    """Start a comparison of the current and the changed policy on a ``scenario``.

    Without one it is the scenario of the tried change, or a scenario of its snapshot, which is created if it is
    missing.
    """
    chosen = scenario or tried_change.revision
    if chosen is None:
        if tried_change.snapshot is None:
            raise Conflict(gettext("The snapshot was deleted: choose a scenario."))
        chosen = scenario_of(tried_change.snapshot, user)
    policy, baseline = _engine_policies(tried_change)
    both = [
        RunPolicy(baseline.label, tried_change.base_document, tried_change.base_started, tried_change.base),
        RunPolicy(policy.label, tried_change.document, tried_change.started, None),
    ]
    return comparison_start(user=user, revision=chosen, policies=both, seeds=[SEED])


def _get_base(tried_change: TriedChange) -> Revision:
    if tried_change.base is None:
        raise Conflict(
            gettext("The policy %(policy)s was deleted: save the change as a draft.") % {"policy": tried_change.policy}
        )
    return tried_change.base


def _new_row(user: User | None, request: TryRequest, *, may_equal: bool = False) -> TriedChange:
    """Return an unsaved row for ``request``, with the change in words.

    Raise ApplicationError if nothing changes, unless ``may_equal``.
    """
    base, snapshot = request.base, request.snapshot
    content = content_checked(request.content.document, request.content.process, renew=False)
    dialect, changed = base.policy.dialect, DIALECTS[content.kind]
    version = request.version
    base_started = process_of_run(base, version)
    # Settled now, so that the answer does not depend on what a later version of the site takes as default.
    started = changed.settle_release(changed.process_on_version(content.process, version))
    tried_change = TriedChange(
        base=base,
        policy=sentences.policy_label(base),
        base_document=base.document,
        base_started=base_started,
        document=content.document,
        process=content.process,
        started=started,
        snapshot=snapshot,
        revision=request.revision,
        about=about_scenario(request.revision) if request.revision else about_snapshot(snapshot) if snapshot else "",
        pod=request.pod,
        created_by=user,
    )
    if changed is not dialect:
        tried_change.change = f"{changed.document_word} instead"
        return tried_change
    changes = sentences.list_changes(dialect, tried_change)
    if not changes and started == base_started and not may_equal:
        raise ApplicationError.at(
            "change", f"This does what {sentences.policy_label(base)} does: change something first."
        )
    tried_change.change = sentences.describe_changes(changes)
    return tried_change


def _engine_policies(tried_change: TriedChange) -> tuple[engine.GatePolicy, engine.GatePolicy]:
    """Return the changed policy and the current one, for the engine."""
    changed = engine.GatePolicy(
        f"{tried_change.policy}, changed", tried_change.document, release_of_record(tried_change.started)
    )
    return changed, engine.GatePolicy(
        tried_change.policy, tried_change.base_document, release_of_record(tried_change.base_started)
    )


def _prepare_plays(tried_change: TriedChange) -> dict[str, PreparedScenario]:
    """Return the prepared scenarios to play, by which pods they place (PENDING or ALL)."""
    if tried_change.revision is not None:
        return {ALL: scenarios.prepare_revision(tried_change.revision, SEED)}
    if tried_change.snapshot is None:
        raise Unprocessable("The snapshot was deleted before there was an answer.")
    return prepare_snapshot(tried_change.snapshot, (PENDING, ALL), SEED)


def _at_once(tried_change: TriedChange, *, preview: bool = False) -> Json:
    """Return the answer; raise DeadlineExceeded if a request cannot find it in time.

    A ``preview`` explains the first moves only.
    """
    refuse_large(tried_change.size)
    key = None
    if tried_change.snapshot is not None:
        prices = sheet_get(tried_change.snapshot.cluster).version
        # Figures of use and prices are part of the key, since the measures depend on them.
        key = (tried_change.snapshot.pk, figures_in_force.figures_version(tried_change.snapshot), prices)
    plays = _prepared.get(key, lambda: _prepare_plays(tried_change)) if key else _prepare_plays(tried_change)
    nodes, pods = engine.count_nodes_and_pods(plays[ALL])
    if nodes * pods > AT_ONCE or (preview and nodes > MOST_PREVIEW_NODES):
        raise DeadlineExceeded
    reasons = MOST_PREVIEW_REASONS if preview else None
    with _turn.take(seconds=PREVIEW_SECONDS if preview else SECONDS) as step:
        if key is None:
            return _worked_out(tried_change, plays, step, most_explained=reasons)
        policy = (tried_change.base_document, json.dumps(tried_change.base_started, sort_keys=True))
        outcomes = _outcomes.get((*key, *policy), dict)
        if not preview:
            return _worked_out(tried_change, plays, step, outcomes)
        changed = (tried_change.document, json.dumps(tried_change.started, sort_keys=True), tried_change.pod)
        # A slider goes back and forth.
        return _previews.get(
            (*key, *policy, *changed),
            lambda: _worked_out(tried_change, plays, step, outcomes, most_explained=reasons),
        )


def _worked_out(
    tried_change: TriedChange,
    plays: dict[str, PreparedScenario],
    step: Step,
    outcomes: dict[str, RunOutcome] | None = None,
    most_explained: int | None = None,
) -> Json:
    """Return the answer; only the first ``most_explained`` moves get a reason.

    ``outcomes`` has the outcomes of plays under the current policy, by place, and gets those that are missing.
    """
    outcomes = {} if outcomes is None else outcomes
    (changed, warnings), (now, _) = (
        engine.load_configuration(policy, path)
        for policy, path in zip(_engine_policies(tried_change), ("document", "policy"), strict=True)
    )
    both = {
        place: play_both(
            prepared,
            now,
            changed,
            step,
            PLACE_LABELS[place],
            outcomes.get(place),
            only_waiting=place == PENDING,
            most_explained=most_explained,
        )
        for place, prepared in plays.items()
    }
    outcomes |= {place: effect.current for place, effect in both.items()}
    anew, pending = both[ALL], both.get(PENDING)
    pod_ends = [(place, effect.pod(tried_change.pod)) for place, effect in both.items()] if tried_change.pod else []
    return {
        "pending": pending.counts if pending else None,
        "anew": anew.counts,
        "nodes": anew.nodes(),
        "levels": anew.node_levels(),
        "measures": anew.list_measures(at_end=pending is not None),
        "pod": next(({"of": place, **ends} for place, ends in pod_ends if ends), None),
        "changes": [{"of": place, **change} for place, effect in both.items() for change in effect.changes],
        "engine": {"current": now.release.engine, "changed": changed.release.engine},
        "warnings": list(warnings),
        "notes": list(dict.fromkeys([*anew.changed.notes, *(text for _, text in anew.changed.refused)])),
    }


def _answer_fields(answer: Json) -> Json:
    # The stored sentence is for every reader, and for REST.
    with translation.override("en"):
        return {"sentence": sentences.answer_sentence(answer), "content": pack_answer(answer)}


def _save_answered(tried_change: TriedChange, answer: Json) -> TriedChange:
    return KIND.save_answered(tried_change, _change_title(tried_change), _answer_fields(answer))


def _change_title(tried_change: TriedChange) -> str:
    return f"{tried_change.policy} on {tried_change.about}: {tried_change.change}"[:200]
