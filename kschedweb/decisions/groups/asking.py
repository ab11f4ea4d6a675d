"""Answers about groups of pods: at once, or by a job where that takes longer than a request may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import reverse

from kschedweb.accounts.reach import sees
from kschedweb.clusters.seen import pod_seen
from kschedweb.decisions import services as decisions
from kschedweb.decisions import veil
from kschedweb.decisions.groups import services, told
from kschedweb.decisions.groups.shown import GroupShown, shown
from kschedweb.decisions.inquiring import answering
from kschedweb.decisions.inquiring.services import of_cluster, sought
from kschedweb.decisions.models import Kind
from kschedweb.decisions.snapshots import at_hand
from kschedweb.web.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.groups.case import GroupCase
    from kschedweb.decisions.inquiring.answering import Answer
    from kschedweb.decisions.models import Question
    from kschedweb.jobs.inquiries import Step
    from kschedweb.policies.models import Revision

    Found = TypeVar("Found")


def listed(user: User, snapshot: Snapshot) -> list[told.Told] | Question:
    """How all groups of a snapshot stand, as REST tells it; a question that has no answer yet."""
    ask = of_cluster(Kind.GROUPS, snapshot, None, reverse("pod-groups", args=[snapshot.cluster.name]))
    quick = at_hand(snapshot) or not snapshot.counts.get("Pod")
    found = sought(user, ask, lambda: _listed(snapshot), lambda _, content: content["groups"], at_hand=quick)
    if isinstance(found, list):
        return [one for one in found if sees(snapshot.cluster_id, one["namespace"])]
    return found


def page(user: User, snapshot: Snapshot, revision: Revision, key: str, *, switch: bool) -> GroupShown | Question:
    """What the page of the group ``key`` shows under ``revision``; raises as ``services.answer``."""
    read = GroupShown.read
    return _sought(user, snapshot, revision, key, switch, shown, lambda _, content: read(content["shown"]))


def rest(user: User, snapshot: Snapshot, revision: Revision, key: str, *, switch: bool) -> told.Told | Question:
    """What REST answers about the group ``key``; raises as ``services.answer``."""
    scheduler, waits = services.responsible(snapshot, key, revision)
    answering = (scheduler and scheduler.revision) or revision
    about = decisions.about(snapshot, answering)
    found = _sought(
        user, snapshot, answering, key, switch, lambda case: about | _told(case), lambda _, content: content["answer"]
    )
    if not isinstance(found, dict):
        return found
    return {**told.responsible(scheduler, waits), **veil.group(snapshot.cluster_id, found)}


def standing(snapshot: Snapshot, revision: Revision, key: str) -> told.Told:
    """Who answers for the group ``key`` now, and which of its pods wait."""
    return told.responsible(*services.responsible(snapshot, key, revision))


def _sought(
    user: User,
    snapshot: Snapshot,
    revision: Revision,
    key: str,
    switch: bool,
    made: Callable[[GroupCase], Found],
    kept: Callable[[Question, dict[str, Any]], Found],
) -> Found | Question:
    pod_seen(snapshot, key, "PodGroup")
    namespace, _, name = key.partition("/")
    address = reverse("pod-group", args=[snapshot.cluster.name, namespace, name])
    ask = of_cluster(
        Kind.GROUP, snapshot, revision, decisions.address(address, snapshot, revision, gates="on" if switch else ""),
        group=key, switch=switch,
    )  # fmt: skip
    quick = decisions.at_hand(snapshot, revision)
    return sought(
        user,
        ask,
        lambda: made(services.answer(snapshot, key, revision, switch=switch)),
        kept,
        at_hand=quick,
    )


def _listed(snapshot: Snapshot) -> list[told.Told]:
    return [told.standing(one) for one in services.listed(snapshot)]


def _told(case: GroupCase) -> told.Told:
    return {"release": case.rules.configuration.release.version, **told.answer(case)}


def group_answer(question: Question, step: Step) -> Answer:
    """Whether a group fits, without a limit of time."""
    snapshot, revision = answering.about(question)
    asked = question.asked
    step("Reading the cluster", 0, 0)
    found = services.answer(snapshot, asked["group"], revision, switch=asked["switch"], step=step)
    content = {"shown": shown(found).to_dict(), "answer": decisions.about(snapshot, revision) | _told(found)}
    return content["shown"]["answer"]["title"], content, None


def groups_answer(question: Question, step: Step) -> Answer:
    """How all groups stand."""
    snapshot = answering.snapshot_of(question)
    step("Reading the cluster", 0, 0)
    found = _listed(snapshot)
    content = {"groups": found, "answer": {"snapshot": str(snapshot.pk), "groups": found}}
    return counted(len(found), "groups of pods"), content, None
