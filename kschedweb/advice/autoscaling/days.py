"""Other NodePools over a day: a comparison of a scenario, or of a recording, under those that are and those changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction
from django.http import Http404
from django.utils.translation import gettext, gettext_noop

from kschedweb.engine.autoscaling.document import Karpenter, KarpenterError, read
from kschedweb.engine.documents.marked import DocumentError, parse
from kschedweb.playground.recordings import selectors as recordings
from kschedweb.playground.recordings.services import scenario_make
from kschedweb.playground.runs import selectors as runs
from kschedweb.playground.runs.entries import entry_named
from kschedweb.playground.runs.services import comparison_start
from kschedweb.playground.scenarios.selectors import cluster_version
from kschedweb.policies.dialect import Kind
from kschedweb.policies.karpenter.dialect import OfKarpenter
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
READY = "ready"  # what labels of runs call the ready NodePool
SAME = gettext_noop("Nothing is changed: both sides of the comparison would be the same.")


@dataclass(frozen=True)
class Day:
    """``kind`` and the id of what is played. Nodes of a recording count as of ``pool`` where they are of none."""

    kind: str
    key: str
    pool: str = ""

    @property
    def value(self) -> str:
        """As a choice of a form."""
        return f"{self.kind}:{self.key}"

    @classmethod
    def named(cls, value: str, pool: str = "") -> Day:
        kind, _, key = value.partition(":")
        return cls(kind, key, pool)


def choices(user: User) -> list[tuple[str, str]]:
    """Recordings that have ended, then scenarios, as choices of a form."""
    ended = [one for one in recordings.recording_list()[:MOST_RECORDINGS] if one.ended and one.records and one.began_at]
    return [
        *(
            (
                Day(RECORDING, str(one.pk)).value,
                gettext("Recording: %(cluster)s, %(at)s UTC")
                % {"cluster": one.cluster.name, "at": f"{one.began_at:%Y-%m-%d %H:%M}"},
            )
            for one in ended
        ),
        *(
            (Day(SCENARIO, str(one.scenario_id)).value, gettext("Scenario: %(name)s") % {"name": one.scenario.name})
            for one in runs.revision_choices(user)
        ),
    ]


def document_of(base: Revision | None) -> str:
    """The NodePools of a revision, or the ready ones, as text."""
    return OfKarpenter.defaults if base is None else base.document


@transaction.atomic
def change_compare(
    *, user: User, base: Revision | None, document: str, day: Day, policy: str, path: str = "day"
) -> Comparison:
    """Start to play ``day`` under the NodePools of ``base`` (``None``: the ready ones) and under ``document``.

    ``policy`` is the scheduler's, "name" or "name@revision"; ``path`` says where the day was asked for. The changed
    NodePools are kept with the runs alone. Raises ApplicationError, with what is wrong of ``document`` at its lines.
    """
    content = content_checked(document)
    if content.kind != Kind.KARPENTER:
        raise Unprocessable.at("document", "This is no document of kind Karpenter.")
    before, name = document_of(base), f"{base.policy.name}@{base.number}" if base else READY
    changed = karpenter_read(content.document)
    if _same(before, content.document):
        raise Unprocessable.at("document", gettext(SAME))
    revision = _revision(user, day, before, changed, path)
    scheduler = entry_named(policy, "scheduler", version=cluster_version(revision))
    sides = [
        replace(scheduler, label=f"{scheduler.label}+{label}", autoscaler=text)
        for label, text in ((name, before), (f"{name} changed", content.document))
    ]
    title = f"{revision.scenario.name}: {name}, before and after a change"
    return comparison_start(user=user, revision=revision, policies=sides, seeds=[1], title=title)


def _same(one: str, other: str) -> bool:
    return bool(parse(one).data == parse(other).data)


def _revision(user: User, day: Day, before: str, changed: Karpenter, path: str) -> ScenarioRevision:
    """The scenario to play; of a recording one is made."""
    try:
        if day.kind == SCENARIO:
            return runs.revision_asked(user, day.key)
        if day.kind != RECORDING:
            raise Http404
        recording = recordings.recording_get(UUID(day.key))
    except (Http404, ValueError):
        raise ApplicationError.at(path, "There is no such recording or scenario.") from None
    return runs.revision_get(scenario_make(user=user, recording=recording, autoscaler=_adopting(day, before, changed)))


def _adopting(day: Day, before: str, changed: Karpenter) -> dict[str, object]:
    """The autoscaler of the scenario of a recording, whose nodes count as of a NodePool that both sides have."""
    data = parse(before).data
    try:
        names = [one.name for one in read(data).pools]
    except KarpenterError as error:
        raise Unprocessable.at("policy", f"This version does not accept the NodePools: {error}") from None
    both = [one for one in names if one in {pool.name for pool in changed.pools}]
    if day.pool and day.pool not in both:
        there = ", ".join(both[:10]) or "none"
        raise ApplicationError.at(
            "pool", f"There is no NodePool {day.pool} before and after the change: there are {there}."
        )
    kept = {key: data[key] for key in ("instanceTypes", "nodePools", "options") if key in data}
    return {"karpenter": {**kept, "adopt": day.pool}}


def first_pool(document: str) -> str:
    """The name of the first NodePool; "" where the document cannot be read."""
    try:
        pools = read(parse(document).data).pools
    except (DocumentError, KarpenterError):
        return ""
    return pools[0].name if pools else ""
