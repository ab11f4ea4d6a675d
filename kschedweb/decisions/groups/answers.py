"""Answers about groups of pods: at once, or by a job if that takes longer than a request may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse

from kschedweb.accounts.reach import can_see_namespace
from kschedweb.clusters.redaction import pod_seen
from kschedweb.decisions import redaction
from kschedweb.decisions import services as decisions
from kschedweb.decisions.groups import rest_answers, services
from kschedweb.decisions.groups.group_page import GroupPage, build_group_page
from kschedweb.decisions.inquiring import handlers
from kschedweb.decisions.inquiring.services import find_answer, of_cluster
from kschedweb.decisions.models import QuestionKind
from kschedweb.decisions.snapshots import at_hand
from kschedweb.engine.json_types import Json
from kschedweb.web.units import format_count

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.groups.case import GroupCase
    from kschedweb.decisions.inquiring.handlers import Answer
    from kschedweb.decisions.models import Question
    from kschedweb.jobs.inquiries import Step
    from kschedweb.policies.models import Revision

    ResultT = TypeVar("ResultT")


def list_groups(user: User, snapshot: Snapshot) -> list[Json] | Question:
    """Return the state of all groups of a snapshot for REST, or a question that has no answer yet."""
    ask = of_cluster(QuestionKind.GROUPS, snapshot, None, reverse("pod-groups", args=[snapshot.cluster.name]))
    is_at_hand = at_hand(snapshot) or not snapshot.counts.get("Pod")
    groups = find_answer(
        user, ask, lambda: _list_group_statuses(snapshot), lambda _, content: content["groups"], at_hand=is_at_hand
    )
    # A job's answer is shared by all people, so each sees only the groups in their namespaces.
    if isinstance(groups, list):
        return [group for group in groups if can_see_namespace(snapshot.cluster_id, group["namespace"])]
    return groups


def answer_for_page(
    user: User, snapshot: Snapshot, revision: Revision, key: str, *, switch: bool
) -> GroupPage | Question:
    """Return the page of the group ``key`` under ``revision``. Raises as ``services.decide_group``."""
    read = GroupPage.from_dict
    return _find_answer(
        user, snapshot, revision, key, switch, build_group_page, lambda _, content: read(content["shown"])
    )


def answer_for_rest(user: User, snapshot: Snapshot, revision: Revision, key: str, *, switch: bool) -> Json | Question:
    """Return REST's answer about the group ``key``. Raises as ``services.decide_group``."""
    scheduler, waits = services.find_responsible(snapshot, key, revision)
    answering = (scheduler and scheduler.revision) or revision
    subject = decisions.answer_subject(snapshot, answering)
    answer = _find_answer(
        user,
        snapshot,
        answering,
        key,
        switch,
        lambda case: subject | _case_to_json(case),
        lambda _, content: content["answer"],
    )
    if not isinstance(answer, dict):
        return answer
    return {**rest_answers.responsible_to_json(scheduler, waits), **redaction.redact_group(snapshot.cluster_id, answer)}


def describe_responsible(snapshot: Snapshot, revision: Revision, key: str) -> Json:
    """Return which scheduler is responsible for the group ``key`` now, and which of its pods wait."""
    return rest_answers.responsible_to_json(*services.find_responsible(snapshot, key, revision))


def _find_answer(
    user: User,
    snapshot: Snapshot,
    revision: Revision,
    key: str,
    switch: bool,
    compute: Callable[[GroupCase], ResultT],
    load: Callable[[Question, Json], ResultT],
) -> ResultT | Question:
    pod_seen(snapshot, key, "PodGroup")
    namespace, _, name = key.partition("/")
    address = reverse("pod-group", args=[snapshot.cluster.name, namespace, name])
    ask = of_cluster(
        QuestionKind.GROUP,
        snapshot,
        revision,
        decisions.page_address(address, snapshot, revision, gates="on" if switch else ""),
        group=key,
        switch=switch,
    )
    is_at_hand = decisions.at_hand(snapshot, revision)
    return find_answer(
        user,
        ask,
        lambda: compute(services.decide_group(snapshot, key, revision, switch=switch)),
        load,
        at_hand=is_at_hand,
    )


def _list_group_statuses(snapshot: Snapshot) -> list[Json]:
    return [rest_answers.status_to_json(group) for group in services.list_groups(snapshot)]


def _case_to_json(case: GroupCase) -> Json:
    return {"release": case.rules.configuration.release.version, **rest_answers.case_to_json(case)}


def group_answer(question: Question, step: Step) -> Answer:
    """Answer whether a group fits, without a limit of time."""
    snapshot, revision = handlers.snapshot_and_revision(question)
    parameters = question.asked
    step("Reading the cluster", 0, 0)
    case = services.decide_group(snapshot, parameters["group"], revision, switch=parameters["switch"], step=step)
    content = {
        "shown": build_group_page(case).to_dict(),
        "answer": decisions.answer_subject(snapshot, revision) | _case_to_json(case),
    }
    return content["shown"]["answer"]["title"], content, None


def groups_answer(question: Question, step: Step) -> Answer:
    """Answer the state of all groups."""
    snapshot = handlers.snapshot_of(question)
    step("Reading the cluster", 0, 0)
    groups = _list_group_statuses(snapshot)
    content = {"groups": groups, "answer": {"snapshot": str(snapshot.pk), "groups": groups}}
    return format_count(len(groups), "groups of pods"), content, None
