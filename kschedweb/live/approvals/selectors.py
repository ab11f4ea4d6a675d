"""Read requests: who waits, for how much longer, on which node and why there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from kschedweb.accounts.roles import Action, role_allows
from kschedweb.clusters.models import ClusterSource, NodeRow
from kschedweb.clusters.selectors import snapshot_current
from kschedweb.decisions.responsibility import ApprovalWait
from kschedweb.engine.json_types import Json
from kschedweb.live.approvals import rules
from kschedweb.live.approvals.models import ApprovalRequest, ApprovalState, VoteVerdict
from kschedweb.live.schedulers.models import LiveDecision
from kschedweb.watermarks.figures import WORDS
from kschedweb.watermarks.selectors import current_watermarks
from kschedweb.web.durations import format_ago, format_duration
from kschedweb.web.errors import ApplicationError, Conflict
from kschedweb.web.messages import translate_words

if TYPE_CHECKING:
    from collections.abc import Collection

    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Cluster

# Uids that a query names. Beyond that, all waiting pods of the cluster are read.
MOST_NAMED = 500


def request_list() -> QuerySet[ApprovalRequest]:
    """Return every request, newest first."""
    return (
        ApprovalRequest.objects.select_related("scheduler__cluster")
        .prefetch_related("votes")
        .order_by("-asked_at", "-id")
    )


def waiting_list() -> QuerySet[ApprovalRequest]:
    """Return the requests that people may still decide, the nearest deadline first."""
    waiting = request_list().filter(open=True, state=ApprovalState.WAITING, expires_at__gt=timezone.now())
    return waiting.order_by("expires_at", "id")


def waiting_count() -> int:
    return ApprovalRequest.objects.filter(open=True, state=ApprovalState.WAITING, expires_at__gt=timezone.now()).count()


def approval_waits(cluster: Cluster, uids: Collection[str]) -> list[ApprovalWait]:
    """Return the waits of the pods of ``cluster`` with one of these uids, as far as the user may view them."""
    rows = waiting_list().filter(scheduler__cluster=cluster)
    rows = rows.filter(uid__in=uids) if len(uids) <= MOST_NAMED else rows
    return [_approval_wait(row) for row in rows.defer("decision")]


def _approval_wait(row: ApprovalRequest) -> ApprovalWait:
    missing = rules.missing_approvals(
        row.ask, [vote.role for vote in row.votes.all() if vote.verdict == VoteVerdict.APPROVE]
    )
    return ApprovalWait(
        pod=row.pod,
        uid=row.uid,
        request=row.pk,
        scheduler_name=row.scheduler.scheduler_name,
        node=row.node,
        asked_at=row.asked_at,
        expires_at=row.expires_at,
        missing=missing,
        people=rules.describe_people(missing) or gettext("nobody"),
        address=reverse("approval", args=[row.pk]),
    )


def request_get(request_id: UUID | str) -> ApprovalRequest:
    """Return one request. Raise ``Http404`` if there is none."""
    row = request_list().filter(pk=request_id).first()
    if row is None:
        raise Http404("There is no such request.")
    return row


def pod_address(row: ApprovalRequest) -> str:
    """Return the address of the pod's page: with its events in the sandbox, its decision elsewhere."""
    cluster = row.scheduler.cluster
    if cluster.source == ClusterSource.SANDBOX:
        return reverse("sandbox-object", args=["Pod", row.namespace, row.name])
    return reverse("decision", args=[cluster.name, row.namespace, row.name])


def not_asked(user: User, row: ApprovalRequest) -> ApplicationError | None:
    """Return the reason why this person has no say in this request, None if they have."""
    role = user.role_in(row.scheduler.cluster_id, row.namespace)
    if not role_allows(role, Action.APPROVE) or not rules.may_decide(row.ask, role):
        return ApplicationError(
            gettext("Your role does not allow you to decide about %(pod)s: it waits for %(people)s.")
            % {"pod": row.pod, "people": rules.describe_people(rules.required_approvals(row.ask))},
            status=403,
        )
    if rules.is_own(row.ask, user.get_username(), user.email):
        return ApplicationError(
            gettext("%(pod)s is a pod of your own: somebody else has to decide about it.") % {"pod": row.pod},
            status=403,
        )
    return None


def decide_refusal(user: User, row: ApprovalRequest) -> ApplicationError | None:
    """Return the reason why this person may not decide about this request, None if they may."""
    if refusal := not_asked(user, row):
        return refusal
    if row.state != ApprovalState.WAITING:
        return Conflict(gettext("Too late: %(outcome)s") % {"outcome": describe_outcome(row, timezone.now())})
    return None


def describe_outcome(row: ApprovalRequest, now: datetime) -> str:
    """Return in a sentence who decided the request, when, and where its pod runs."""
    texts = {
        ApprovalState.WAITING: gettext("%(pod)s waits for approval."),
        ApprovalState.APPROVED: gettext("%(by)s approved %(pod)s %(ago)s; it will run on %(node)s."),
        ApprovalState.BINDING: gettext("%(by)s approved %(pod)s %(ago)s; it is being bound to %(node)s."),
        ApprovalState.BOUND: gettext("%(by)s approved %(pod)s %(ago)s; it runs on %(node)s."),
        ApprovalState.DENIED: gettext("%(by)s denied %(pod)s %(ago)s."),
        ApprovalState.EXPIRED: gettext("nobody decided about %(pod)s in time; it was denied %(ago)s."),
        ApprovalState.FAILED: gettext("%(by)s approved %(pod)s %(ago)s, but it could not be bound."),
        ApprovalState.SUPERSEDED: gettext("%(pod)s does not wait any more: %(reason)s."),
    }
    decided = row.decided_at or row.ended_at or now
    return texts[ApprovalState(row.state)] % {
        "by": row.decided_by or gettext("The deadline"),
        "pod": row.pod,
        "ago": format_ago(int((now - decided).total_seconds()), exact=True),
        "node": row.node,
        "reason": row.reason,
    }


@dataclass(frozen=True)
class InboxNews:
    """Changes of the inbox since a moment."""

    # Requests that are new and wait.
    opened: int
    # Requests that were decided or ended.
    decided: int


def count_news(since: datetime) -> InboxNews:
    """Count the requests that were opened, and those that were decided or ended, after ``since``."""
    rows = ApprovalRequest.objects.all()
    opened = rows.filter(asked_at__gt=since, open=True, state=ApprovalState.WAITING).count()
    decided = rows.filter(asked_at__lte=since, decided_at__gt=since)
    ended = rows.filter(asked_at__lte=since, decided_at=None, ended_at__gt=since)
    return InboxNews(opened, decided.count() + ended.count())


@dataclass
class InboxItem:
    """A request as the ``user`` sees it at ``now``."""

    row: ApprovalRequest
    user: User
    now: datetime

    @cached_property
    def seconds_left(self) -> float:
        """Return the seconds until it expires, 0 once it has expired."""
        return max((self.row.expires_at - self.now).total_seconds(), 0.0)

    @property
    def left_text(self) -> str:
        if self.seconds_left < 1:
            return gettext("no time left")
        return gettext("%(lasting)s left") % {"lasting": format_duration(int(self.seconds_left))}

    @property
    def share(self) -> int:
        """Return the remaining time in thousandths of the whole time."""
        whole = (self.row.expires_at - self.row.asked_at).total_seconds()
        return round(1000 * self.seconds_left / whole) if whole > 0 else 0

    @property
    def urgent(self) -> bool:
        """True if less than a tenth of its time, or less than five minutes, is left."""
        return self.share < 100 or self.seconds_left < 300

    @cached_property
    def approvals(self) -> list[Any]:
        return [vote for vote in self.row.votes.all() if vote.verdict == VoteVerdict.APPROVE]

    @property
    def awaited_people(self) -> str:
        """Return the people who are still missing, such as "one admin and 2 approvers"."""
        return rules.describe_people(
            rules.missing_approvals(self.row.ask, [vote.role for vote in self.approvals])
        ) or gettext("nobody")

    @property
    def approvers(self) -> str:
        """Return the names of those who have approved."""
        return ", ".join(vote.username for vote in self.approvals)

    @property
    def why(self) -> list[str]:
        return [translate_words(reason) for reason in self.row.ask.get("why") or []]

    @property
    def rule(self) -> str:
        return ", ".join(self.row.ask.get("rules") or [])

    @cached_property
    def refusal(self) -> str:
        """Return why this person may not decide about it, "" if they may."""
        error = decide_refusal(self.user, self.row)
        return error.detail if error else ""

    @property
    def undo_seconds(self) -> int:
        """Return for how many seconds this person can still take the decision back, 0 if they cannot."""
        row = self.row
        if not row.open or row.undo_until is None or row.decided_by != self.user.get_username():
            return 0
        return max(math.ceil((row.undo_until - self.now).total_seconds()), 0)

    @property
    def stands(self) -> bool:
        """True if this denial answers all further requests about the same subject."""
        return bool(self.row.state == ApprovalState.DENIED and self.row.subject and self.row.reopened_at is None)

    @property
    def may_reopen(self) -> bool:
        return self.stands and not_asked(self.user, self.row) is None

    @property
    def sentence(self) -> str:
        """Return a sentence that says which node was chosen, and how clearly."""
        decision, node = self.row.decision, self.row.node
        feasible, margin = decision.get("feasible") or 0, decision.get("margin")
        top = decision.get("top") or []
        if feasible == 1:
            return gettext("%(pod)s will run on %(node)s, the only node that can run it.") % {
                "pod": self.row.pod,
                "node": node,
            }
        if margin is None or len(top) < 2:
            return gettext("%(pod)s will run on %(node)s, one of %(feasible)s nodes that can run it.") % {
                "pod": self.row.pod,
                "node": node,
                "feasible": feasible,
            }
        if margin <= 0:
            return gettext("%(pod)s will run on %(node)s, tied for the best total, %(total)s.") % {
                "pod": self.row.pod,
                "node": node,
                "total": top[0]["total"],
            }
        return gettext("%(pod)s will run on %(node)s: %(total)s, %(margin)s ahead of %(node2)s.") % {
            "pod": self.row.pod,
            "node": node,
            "total": top[0]["total"],
            "margin": margin,
            "node2": top[1]["node"],
        }

    @property
    def plugins(self) -> list[str]:
        """Return the plugins that scored, in their order."""
        top = self.row.decision.get("top") or []
        return list(dict.fromkeys(name for ranked in top for name in ranked.get("scores", {})))

    @property
    def best(self) -> list[Json]:
        """Return the best nodes with their scores in the order of ``plugins``."""
        top, plugins = self.row.decision.get("top") or [], self.plugins
        return [ranked | {"cells": [ranked.get("scores", {}).get(name) for name in plugins]} for ranked in top]


@dataclass(frozen=True)
class NodeMeasure:
    """One figure of the node at the time of the request, and now."""

    label: str
    # "cpu" (milli-CPU), "memory" (bytes), "pods" or "percent".
    unit: str
    # Taken, and allocatable. None where it is not known.
    then: tuple[float | None, float | None]
    now: tuple[float | None, float | None]

    @property
    def changed(self) -> bool:
        return self.then[0] != self.now[0] and self.now[0] is not None


@dataclass(frozen=True)
class NodeState:
    """The chosen node then and now."""

    measures: list[NodeMeasure]
    # The time of "now"; None if the node is not known any more.
    read_at: datetime | None
    ready: bool = True
    unschedulable: bool = False


def node_state(row: ApprovalRequest) -> NodeState:
    """Return the node's requests at the last reading and its last measured usage, beside those of then."""
    cluster = row.scheduler.cluster
    snapshot = snapshot_current(cluster)
    node_row = NodeRow.objects.filter(snapshot=snapshot, name=row.node).first() if snapshot else None
    then = row.ask.get("node") or {}
    measures = []
    for key, label, column in (
        ("cpu", gettext("CPU requested"), "cpu"),
        ("memory", gettext("Memory requested"), "memory"),
        ("pods", gettext("Pods"), "pods"),
    ):
        now: tuple[float | None, float | None] = (None, None)
        if node_row is not None:
            used_field = "pods_bound" if column == "pods" else f"{column}_requested"
            now = (getattr(node_row, used_field), getattr(node_row, f"{column}_allocatable"))
        before = then.get(key) or (None, None)
        measures.append(NodeMeasure(label, key, (before[0], before[1]), now))
    measures += _measure_use(row)
    if node_row is None or snapshot is None:
        return NodeState(measures, None)
    return NodeState(measures, snapshot.taken_at, node_row.ready, node_row.unschedulable)


def _measure_use(row: ApprovalRequest) -> list[NodeMeasure]:
    """Return the usage in percent of allocatable, for each figure that is known then or now."""
    table = current_watermarks(row.scheduler.cluster)
    at = list(table.names).index(row.node) if table and row.node in table.names else -1
    measures = []
    for window, figures in (row.ask.get("usage") or {}).items():
        words = {"window": WORDS.get(window, window)}
        labels = {
            "cpu": gettext("CPU in use, %(window)s") % words,
            "memory": gettext("Memory in use, %(window)s") % words,
        }
        for resource, label in labels.items():
            value = float(table.column(resource, window)[at]) if table and at >= 0 else None
            # NaN, the only value that differs from itself, stands for an unknown figure.
            now = None if value is None or value != value else round(value, 1)
            then = figures.get(resource)
            if then is not None or now is not None:
                then = None if then is None else round(then, 1)
                measures.append(NodeMeasure(label, "percent", (then, None), (now, None)))
    return measures


def decision_of(row: ApprovalRequest) -> LiveDecision | None:
    """Return the stored decision, None once it is deleted."""
    try:
        key = UUID(row.decision_id)
    except ValueError:
        return None
    return LiveDecision.objects.filter(pk=key).only("pk", "scheduler_id").first()


def make_item(row: ApprovalRequest, user: User) -> InboxItem:
    return InboxItem(row, user, timezone.now())


def make_items(rows: QuerySet[ApprovalRequest] | list[ApprovalRequest], user: User) -> list[InboxItem]:
    """Return the requests as ``user`` sees them."""
    now = timezone.now()
    return [InboxItem(row, user, now) for row in rows]
