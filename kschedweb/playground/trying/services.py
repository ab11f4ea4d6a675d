"""Tries changes of policies: at once on small clusters, else by a job. A tried change is saved, judged, or compared."""

from __future__ import annotations

import json
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext

from kschedweb.accounts import audit
from kschedweb.clusters.prices.selectors import sheet_get, table_of
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions import utilisation
from kschedweb.engine.patience import NotNow
from kschedweb.engine.studies.document.parts import ALL, PENDING
from kschedweb.engine.studies.gate import gate as engine
from kschedweb.engine.studies.trying.effect import play
from kschedweb.jobs.inquiries import AT_ONCE_SIZE, at_once, packed, refuse_more
from kschedweb.jobs.services import job_start
from kschedweb.playground.gate.services import AT_ONCE, GateRequest, gate_ask, refusals
from kschedweb.playground.gate.words import about_scenario, about_snapshot
from kschedweb.playground.runs.entries import RunPolicy
from kschedweb.playground.runs.services import comparison_start
from kschedweb.playground.scenarios import selectors as scenarios
from kschedweb.playground.trying import words
from kschedweb.playground.trying.changes import Content
from kschedweb.playground.trying.models import TriedChange
from kschedweb.playground.trying.overtime import scenario_of
from kschedweb.policies.kinds import DIALECTS
from kschedweb.policies.selectors import process_of_run
from kschedweb.policies.services import content_checked, policy_create, revision_save
from kschedweb.policies.validation import release_of_record
from kschedweb.watermarks.selectors import current
from kschedweb.web.errors import ApplicationError, Conflict, Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.engine.studies.gate.thresholds import Thresholds
    from kschedweb.engine.studies.play.outcome import Outcome
    from kschedweb.engine.studies.prepare.prepared import Prepared
    from kschedweb.jobs.inquiries import Step
    from kschedweb.playground.gate.models import Gate
    from kschedweb.playground.runs.models import Comparison
    from kschedweb.playground.scenarios.models import ScenarioRevision
    from kschedweb.policies.models import Revision

SEED = 1
ABOUT = {PENDING: "Pending pods", ALL: "All pods"}
SECONDS = 5.0  # for an answer at once: the demo takes 1.5 s of one core, and twice as long on a busy machine
_turn = Lock()
# Of small snapshots, on which one change follows the other.
_prepared: LRU[dict[str, Prepared]] = LRU(2)
_outcomes: LRU[dict[str, Outcome]] = LRU(4)  # under the current policy


@dataclass(frozen=True)
class TryRequest:
    """What is tried: the ``content`` that a change makes of ``base``, on a ``snapshot`` or a ``revision`` (scenario).

    ``pod`` ("namespace/name", "" for none) is one of which the answer tells.
    """

    base: Revision
    content: Content
    snapshot: Snapshot | None = None
    revision: ScenarioRevision | None = None
    pod: str = ""

    @property
    def version(self) -> str:
        """The version of the cluster that it is tried on, "" if it is not known."""
        if self.snapshot is not None:
            return self.snapshot.cluster.server_version
        return "" if self.revision is None else scenarios.cluster_version(self.revision)


def change_try(*, user: User | None, asked: TryRequest) -> TriedChange:
    """Try a change; what is returned has its answer, or a job that finds it.

    Raises InvalidDocument with problems at lines of the document, and ApplicationError at "change" for one that changes
    nothing.
    """
    made = _row(user, asked)
    with refusals():
        _policies(made)
        try:
            return _known(user, made, _at_once(made))
        except NotNow:
            return _later(user, made)


def change_answer(*, tried: TriedChange, step: Step) -> dict[str, Any]:
    """Find and store what the change does, unless it is known already; ``step`` gets the progress."""
    if tried.content is None:
        step("Reading the cluster", 0, 0)
        with refusals():
            _answered(tried, _worked_out(tried, _plays(tried), step))
        values = {name: getattr(tried, name) for name in ("sentence", "content", "ended_at")}
        TriedChange.objects.filter(pk=tried.pk, ended_at=None).update(**values)
        tried.refresh_from_db(fields=["sentence"])
    return {"tried": str(tried.pk), "answer": tried.sentence}


def change_worked_out(*, user: User | None, asked: TryRequest, step: Step) -> TriedChange:
    """Try a change within somebody's job, however long it takes; raises as ``change_try``."""
    made = _row(user, asked)
    with refusals():
        _policies(made)
        return _known(user, made, _worked_out(made, _plays(made), step))


@transaction.atomic
def change_save(*, user: User, tried: TriedChange, name: str = "", comment: str = "") -> Revision:
    """Save the changed policy: as the next revision of the base, or as a draft, a new policy called ``name``.

    Raises PreconditionFailed where the base has a newer revision, Conflict where a policy has that name or the base is
    gone.
    """
    said = comment or f"Tried on {tried.about}: {tried.change}"[:500]
    if name:
        description = f"Draft of a change of {tried.policy}"
        content = {"document": tried.document, "process": tried.process}
        made = policy_create(name=name, description=description, author=user, comment=said, **content)
        return made.revisions.order_by("-number")[0]
    base = _base(tried)
    return revision_save(
        policy=base.policy,
        document=tried.document,
        process=tried.process,
        author=user,
        expected=base.number,
        comment=said,
    )


def change_judge(*, user: User, tried: TriedChange, thresholds: Thresholds) -> Gate:
    """Ask the gate to judge the changed policy against the current one, where it was tried."""
    policy, baseline = _policies(tried)
    given: dict[str, Any] = {"policy": policy, "baseline": baseline, "thresholds": thresholds, "about": tried.about}
    return gate_ask(user=user, question=GateRequest(**given, **_where(tried)))


@transaction.atomic
def change_compare(*, user: User, tried: TriedChange, scenario: ScenarioRevision | None = None) -> Comparison:
    """Start a comparison of the current and the changed policy on a ``scenario``.

    Without one it is the scenario of the tried change, or one of its snapshot, which is made where there is none.
    """
    chosen = scenario or tried.revision
    if chosen is None:
        if tried.snapshot is None:
            raise Conflict(gettext("The snapshot was deleted: choose a scenario."))
        chosen = scenario_of(tried.snapshot, user)
    policy, baseline = _policies(tried)
    both = [
        RunPolicy(baseline.label, tried.base_document, tried.base_started, tried.base),
        RunPolicy(policy.label, tried.document, tried.started, None),
    ]
    return comparison_start(user=user, revision=chosen, policies=both, seeds=[SEED])


def _base(tried: TriedChange) -> Revision:
    if tried.base is None:
        raise Conflict(
            gettext("The policy %(policy)s was deleted: save the change as a draft.") % {"policy": tried.policy}
        )
    return tried.base


def _row(user: User | None, asked: TryRequest) -> TriedChange:
    base, snapshot = asked.base, asked.snapshot
    content = content_checked(asked.content.document, asked.content.process, renew=False)
    dialect, changed = base.policy.dialect, DIALECTS[content.kind]
    version = asked.version
    base_started = process_of_run(base, version)
    started = changed.settled(changed.started(content.process, version))
    made = TriedChange(
        base=base,
        policy=words.label(base),
        base_document=base.document,
        base_started=base_started,
        document=content.document,
        process=content.process,
        started=started,
        snapshot=snapshot,
        revision=asked.revision,
        about=about_scenario(asked.revision) if asked.revision else about_snapshot(snapshot) if snapshot else "",
        pod=asked.pod,
        created_by=user,
    )
    if changed is not dialect:
        made.change = f"{changed.document_word} instead"
        return made
    found = words.changes(dialect, made)
    if not found and started == base_started:
        raise ApplicationError.at("change", f"This does what {words.label(base)} does: change something first.")
    made.change = words.change(found)
    return made


def _policies(tried: TriedChange) -> tuple[engine.Policy, engine.Policy]:
    """The changed policy and the current one, for the engine."""
    changed = engine.Policy(f"{tried.policy}, changed", tried.document, release_of_record(tried.started))
    return changed, engine.Policy(tried.policy, tried.base_document, release_of_record(tried.base_started))


def _where(tried: TriedChange) -> dict[str, Any]:
    return {"snapshot": tried.snapshot, "revision": tried.revision}


def _plays(tried: TriedChange) -> dict[str, Prepared]:
    """What is played, by which pods it places."""
    if tried.revision is not None:
        return {ALL: scenarios.prepared(tried.revision, SEED)}
    if tried.snapshot is None:
        raise Unprocessable("The snapshot was deleted before there was an answer.")
    taken = tried.snapshot.taken_at.timestamp()
    objects, known = snapshot_objects(tried.snapshot), current(tried.snapshot.cluster, taken)
    prices = table_of(tried.snapshot.cluster)
    return {
        place: engine.prepared_of(objects, place=place, seed=SEED, now=taken, utilisation=known, prices=prices)
        for place in (PENDING, ALL)
    }


def _at_once(tried: TriedChange) -> dict[str, Any]:
    cluster = tried.revision.snapshot if tried.revision is not None else tried.snapshot
    if cluster is not None and cluster.size > AT_ONCE_SIZE:
        raise NotNow
    key = None
    if tried.snapshot is not None:
        prices = sheet_get(tried.snapshot.cluster).version
        key = (tried.snapshot.pk, utilisation.version(tried.snapshot), prices)
    plays = _prepared.get(key, lambda: _plays(tried)) if key else _plays(tried)
    nodes, pods = engine.size(plays[ALL])
    if nodes * pods > AT_ONCE:
        raise NotNow
    with at_once(_turn, SECONDS) as step:
        if key is None:
            return _worked_out(tried, plays, step)
        policy = (tried.base_document, json.dumps(tried.base_started, sort_keys=True))
        return _worked_out(tried, plays, step, _outcomes.get((*key, *policy), dict))


def _worked_out(
    tried: TriedChange, plays: dict[str, Prepared], step: Step, known: dict[str, Outcome] | None = None
) -> dict[str, Any]:
    """The answer; ``known`` has what came of plays under the current policy, and gets what comes of them now."""
    known = {} if known is None else known
    (changed, warnings), (now, _) = (
        engine.configured(policy, path) for policy, path in zip(_policies(tried), ("document", "policy"), strict=True)
    )
    both = {
        place: play(prepared, now, changed, step, ABOUT[place], known.get(place), only_waiting=place == PENDING)
        for place, prepared in plays.items()
    }
    known |= {place: one.current for place, one in both.items()}
    anew, pending = both[ALL], both.get(PENDING)
    told = [(place, one.pod(tried.pod)) for place, one in both.items()] if tried.pod else []
    return {
        "pending": pending.counts if pending else None,
        "anew": anew.counts,
        "nodes": anew.nodes(),
        "measures": anew.measures(standing=pending is not None),
        "pod": next(({"of": place, **found} for place, found in told if found), None),
        "changes": [{"of": place, **change} for place, one in both.items() for change in one.changes],
        "engine": {"current": now.release.engine, "changed": changed.release.engine},
        "warnings": list(warnings),
        "notes": list(dict.fromkeys([*anew.changed.notes, *(text for _, text in anew.changed.refused)])),
    }


def _answered(tried: TriedChange, answer: dict[str, Any]) -> None:
    with translation.override("en"):  # what is stored is for every reader, and for REST
        tried.sentence = words.sentence(answer)
    tried.ended_at = timezone.now()
    tried.content = packed(answer)


@transaction.atomic
def _known(user: User | None, made: TriedChange, answer: dict[str, Any]) -> TriedChange:
    _answered(made, answer)
    made.save()
    audit.record(user, "change.tried", made, _title(made))
    return made


@transaction.atomic
def _later(user: User | None, made: TriedChange) -> TriedChange:
    refuse_more(TriedChange, user, "tried changes")
    made.save()
    private = made.revision.scenario.private if made.revision else False
    params = {"tried": str(made.pk)}
    made.job = job_start("trying.answer", title=f"Try: {_title(made)}"[:200], params=params, user=user, private=private)
    made.save(update_fields=["job"])
    audit.record(user, "change.tried", made, _title(made))
    return made


def _title(tried: TriedChange) -> str:
    return f"{tried.policy} on {tried.about}: {tried.change}"[:200]
