"""Read live schedulers, the processes that host them, and their decisions."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import DurationField, ExpressionWrapper, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Now
from django.http import Http404
from django.urls import reverse

from kschedweb.decisions.kept import explanation_bytes
from kschedweb.decisions.responsibility import LiveProfile
from kschedweb.live.schedulers.models import Candidate, LiveColumns, LiveDecision, LiveScheduler, Mode
from kschedweb.policies.dialects import PROFILES
from kschedweb.policies.models import Revision
from kschedweb.policies.selectors import load_configuration, revision_get
from kschedweb.policies.validation import release_of

if TYPE_CHECKING:
    from collections.abc import Collection
    from uuid import UUID

    from kschedweb.clusters.models import Cluster
    from kschedweb.decisions.kept.insight import Insight
    from kschedweb.engine.config import Configuration, Release
    from kschedweb.engine.framework.explanation import Explanation

# The only plugin that may bind in mode scheduling.
BINDER = "DefaultBinder"
# A candidate that was silent for longer counts as gone.
ALIVE = timedelta(seconds=15)


class ProfileError(ValueError):
    """The scheduler cannot use the policy. The text is for the person who chose it."""


def live_list() -> QuerySet[LiveScheduler]:
    """Return all live schedulers by cluster and name, each with ``newest``, its policy's last revision number."""
    newest = Revision.objects.filter(policy=OuterRef("policy")).order_by("-number").values("number")[:1]
    rows = LiveScheduler.objects.select_related("cluster", "policy", "revision__policy")
    return rows.annotate(newest=Subquery(newest))  # type: ignore[no-redef]


def live_get(live_id: UUID | str) -> LiveScheduler:
    """Return the live scheduler of this id. Raise ``Http404`` otherwise."""
    live = live_list().filter(pk=live_id).first()
    if live is None:
        raise Http404("There is no such live scheduler.")
    return live


def list_alive(rows: QuerySet[Candidate]) -> QuerySet[Candidate]:
    """Return those of ``rows`` with a recent heartbeat, with the time that they have been ``silent``.

    Only the database's clock counts, since the clocks of the processes may differ.
    """
    measured = {"silent": ExpressionWrapper(Now() - F("heartbeat"), output_field=DurationField())}
    return rows.filter(heartbeat__gte=Now() - ALIVE).annotate(**measured)


def find_leader(scheduler: LiveScheduler) -> Candidate | None:
    """Return the process that leads now; of two that believe so, the one of the higher epoch."""
    leading = list_alive(scheduler.candidates.filter(leading=True)).select_related("revision")
    return leading.order_by("-epoch", "-heartbeat").first()


def decision_list(scheduler: LiveScheduler) -> QuerySet[LiveDecision]:
    """Return the decisions, newest first, without columns."""
    return scheduler.decisions.select_related("revision")


def decision_get(scheduler: LiveScheduler, decision: UUID | str) -> LiveDecision:
    """Return one decision. Raise ``Http404`` if it is not stored (any more)."""
    row = decision_list(scheduler).filter(pk=decision).first()
    if row is None:
        raise Http404("There is no such decision: it may have been made too long ago to be kept.")
    return row


def decisions_of_pod(cluster: Cluster, namespace: str, name: str) -> QuerySet[LiveDecision]:
    """Return the decisions of all live schedulers of ``cluster`` about pods of this name, newest first."""
    rows = LiveDecision.objects.filter(scheduler__cluster=cluster, namespace=namespace, name=name)
    return rows.select_related("scheduler", "revision")


def read_explanation(decision: LiveDecision) -> tuple[Explanation, Insight] | None:
    """Return every verdict and score of ``decision`` as it was judged, and the insight stored beside them.

    Returns None if they were not stored.
    """
    row = LiveColumns.objects.filter(decision=decision).first()
    if row is None:
        return None
    explanation, insight = explanation_bytes.unpack_explanation(bytes(row.content))
    if decision.node in explanation.nodes:
        # Of several nodes with the best total, the decision may have drawn another than the explanation names.
        explanation = replace(explanation, chosen=explanation.nodes.index(decision.node))
    return explanation, insight


def same_result(decision: LiveDecision) -> LiveDecision | None:
    """Return the newest other decision about the pod with the same result and with columns, None without one."""
    rows = LiveDecision.objects.filter(scheduler=decision.scheduler_id, uid=decision.uid, has_columns=True)
    return rows.filter(node=decision.node, message=decision.message).exclude(pk=decision.pk).order_by("-at").first()


def revision_id_in_force(scheduler: LiveScheduler) -> int:
    """Return the id of ``revision_in_force``, without a query on most rows."""
    return scheduler.revision_id or revision_in_force(scheduler).pk


def revision_in_force(scheduler: LiveScheduler) -> Revision:
    """Return the pinned revision.

    A process of an earlier release wrote a row without one: that runs the revision that was the newest then.
    """
    if scheduler.revision is not None:
        return scheduler.revision
    then = scheduler.policy.revisions.filter(created_at__lte=scheduler.changed_at or scheduler.created_at)
    return then.order_by("-number").first() or revision_get(scheduler.policy, 1)


def release_in_force(live: LiveScheduler) -> Release:
    """Return the kube-scheduler as which ``live`` decides: its policy's, else its cluster's."""
    return release_of(PROFILES.process_on_version(revision_in_force(live).process, live.cluster.server_version))


def list_running() -> QuerySet[LiveScheduler]:
    """Return the live schedulers to be hosted, with their clusters.

    Hosts call it twice a second, so it joins no more.
    """
    return LiveScheduler.objects.select_related("cluster").exclude(mode=Mode.OFF).order_by("pk")


def live_configuration(live: LiveScheduler, revision: Revision) -> Configuration:
    """Return the configuration of ``revision`` for one scheduler: the profile of its name, or the only one renamed.

    If the policy names no release of kube-scheduler, the cluster's counts. Raises ProfileError if the policy has
    several profiles and none of this name.
    """
    scheduler_name = live.scheduler_name
    whole = load_configuration(revision, live.cluster.server_version)
    profile = whole.find_profile(scheduler_name)
    if profile is None:
        if len(whole.profiles) > 1:
            names = ", ".join(candidate.scheduler_name for candidate in whole.profiles)
            raise ProfileError(f"The policy has several profiles, none for {scheduler_name}: it has {names}.")
        profile = replace(whole.profiles[0], scheduler_name=scheduler_name)
    return replace(whole, profiles=(profile,))


def live_profiles(cluster: Cluster, scheduler_names: Collection[str]) -> list[LiveProfile]:
    """Return the live schedulers of ``cluster`` with these names, except those whose policy lacks their profile."""
    rows = live_list().filter(cluster=cluster, scheduler_name__in=scheduler_names)
    profiles = []
    for live in rows:
        revision = revision_in_force(live)
        try:
            live_configuration(live, revision)
        except ProfileError:
            continue
        profiles.append(LiveProfile(live.scheduler_name, revision, reverse("live-scheduler", args=[live.pk])))
    return profiles


def scheduling_configuration(live: LiveScheduler, revision: Revision) -> Configuration:
    """Return ``live_configuration`` for a scheduler that binds. Raise ProfileError if another plugin would bind.

    A third-party binder would use the snapshot that the loop's thread is changing, and its writes would not be preceded
    by a check that this process still leads.
    """
    config = live_configuration(live, revision)
    other_binders = [ref.name for ref in config.profiles[0].points.get("bind", ()) if ref.name != BINDER]
    if other_binders:
        raise ProfileError(
            f"The policy has pods bound by {', '.join(other_binders)}: in mode scheduling {BINDER} alone binds. Take "
            f"{'it' if len(other_binders) == 1 else 'them'} out of bind, or choose another mode."
        )
    return config
