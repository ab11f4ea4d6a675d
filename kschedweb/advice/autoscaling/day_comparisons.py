"""Compare NodePools over a day: a scenario or a recording is played under the present and the changed ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction
from django.http import Http404
from django.utils.translation import gettext, gettext_noop

from kschedweb.engine.autoscaling.document import Karpenter, KarpenterError, read_document
from kschedweb.engine.documents.marked_documents import MarkedDocumentError, parse_document
from kschedweb.playground.recordings import selectors as recordings
from kschedweb.playground.recordings.services import scenario_make
from kschedweb.playground.runs import selectors as runs
from kschedweb.playground.runs.run_policies import entry_named
from kschedweb.playground.runs.services import comparison_start
from kschedweb.playground.scenarios.selectors import cluster_version
from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.karpenter.dialect import KarpenterDialect
from kschedweb.policies.karpenter.selectors import karpenter_read
from kschedweb.policies.services import content_checked
from kschedweb.web.errors import ApplicationError, Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.playground.runs.models import Comparison
    from kschedweb.playground.scenarios.models import ScenarioRevision
    from kschedweb.policies.models import Revision

SCENARIO, RECORDING = "scenario", "recording"
MOST_RECORDINGS = 50
# The ready NodePool in labels of runs.
READY = "ready"
SAME = gettext_noop("Nothing is changed: both sides of the comparison would be the same.")


@dataclass(frozen=True)
class Day:
    """The day that is played."""

    # SCENARIO or RECORDING, and the id of it.
    kind: str
    key: str
    # The NodePool of a recording's nodes that have none.
    pool: str = ""

    @property
    def value(self) -> str:
        """Return the day as a choice of a form."""
        return f"{self.kind}:{self.key}"

    @classmethod
    def from_value(cls, value: str, pool: str = "") -> Day:
        kind, _, key = value.partition(":")
        return cls(kind, key, pool)


def list_day_choices(user: User) -> list[tuple[str, str]]:
    """Return recordings that have ended, then scenarios, as choices of a form."""
    ended = [
        recording
        for recording in recordings.recording_list()[:MOST_RECORDINGS]
        if recording.ended and recording.records and recording.began_at
    ]
    return [
        *(
            (
                Day(RECORDING, str(recording.pk)).value,
                gettext("Recording: %(cluster)s, %(at)s UTC")
                % {"cluster": recording.cluster.name, "at": f"{recording.began_at:%Y-%m-%d %H:%M}"},
            )
            for recording in ended
        ),
        *(
            (
                Day(SCENARIO, str(revision.scenario_id)).value,
                gettext("Scenario: %(name)s") % {"name": revision.scenario.title},
            )
            for revision in runs.revision_choices(user)
        ),
    ]


def document_of(base: Revision | None) -> str:
    """Return the NodePools of a revision, or the ready ones, as text."""
    return KarpenterDialect.defaults if base is None else base.document


@transaction.atomic
def change_compare(
    *, user: User, base: Revision | None, document: str, day: Day, policy: str, path: str = "day"
) -> Comparison:
    """Start to play ``day`` under the NodePools of ``base`` (None: the ready ones) and under ``document``.

    ``policy`` is the scheduler's, "name" or "name@revision"; ``path`` is the field of the day. The changed NodePools
    are stored only with the runs. Raises ApplicationError, with problems of ``document`` at its lines.
    """
    content = content_checked(document)
    if content.kind != PolicyKind.KARPENTER:
        raise Unprocessable.at("document", "This is no document of kind Karpenter.")
    before, name = document_of(base), f"{base.policy.name}@{base.number}" if base else READY
    changed = karpenter_read(content.document)
    if _is_same_document(before, content.document):
        raise Unprocessable.at("document", gettext(SAME))
    revision = _get_scenario_revision(user, day, before, changed, path)
    scheduler = entry_named(policy, "scheduler", version=cluster_version(revision))
    sides = [
        replace(scheduler, label=f"{scheduler.label}+{label}", autoscaler=text)
        for label, text in ((name, before), (f"{name} changed", content.document))
    ]
    title = f"{revision.scenario.name}: {name}, before and after a change"
    return comparison_start(user=user, revision=revision, policies=sides, seeds=[1], title=title)


def _is_same_document(document: str, other: str) -> bool:
    return bool(parse_document(document).data == parse_document(other).data)


def _get_scenario_revision(user: User, day: Day, before: str, changed: Karpenter, path: str) -> ScenarioRevision:
    """Return the scenario to play. For a recording, one is made."""
    try:
        if day.kind == SCENARIO:
            return runs.revision_asked(user, day.key)
        if day.kind != RECORDING:
            raise Http404
        recording = recordings.recording_get(UUID(day.key))
    except (Http404, ValueError):
        raise ApplicationError.at(path, "There is no such recording or scenario.") from None
    return runs.revision_get(
        scenario_make(user=user, recording=recording, autoscaler=_adopting_autoscaler(day, before, changed))
    )


def _adopting_autoscaler(day: Day, before: str, changed: Karpenter) -> dict[str, object]:
    """Return the autoscaler of a recording's scenario, whose nodes belong to a NodePool that both sides have."""
    data = parse_document(before).data
    try:
        names = [pool.name for pool in read_document(data).pools]
    except KarpenterError as error:
        raise Unprocessable.at("policy", f"This version does not accept the NodePools: {error}") from None
    both = [name for name in names if name in {pool.name for pool in changed.pools}]
    if day.pool and day.pool not in both:
        available = ", ".join(both[:10]) or "none"
        raise ApplicationError.at(
            "pool", f"There is no NodePool {day.pool} before and after the change: there are {available}."
        )
    parts = {key: data[key] for key in ("instanceTypes", "nodePools", "options") if key in data}
    return {"karpenter": {**parts, "adopt": day.pool}}


def first_pool(document: str) -> str:
    """Return the name of the first NodePool, "" if the document cannot be read."""
    try:
        pools = read_document(parse_document(document).data).pools
    except (MarkedDocumentError, KarpenterError):
        return ""
    return pools[0].name if pools else ""
