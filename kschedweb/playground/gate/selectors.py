"""Read gates and their verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from django.db.models import Q
from django.http import Http404
from django.utils.translation import gettext

from kschedweb.clusters.models import Cluster
from kschedweb.decisions.selectors import snapshot_asked
from kschedweb.engine.json_types import Json
from kschedweb.jobs.models import JobState
from kschedweb.playground.gate.models import Gate, TargetInquiry
from kschedweb.playground.scenarios.models import ScenarioRevision, readable_by
from kschedweb.playground.scenarios.selectors import revision_get, scenario_get, scenario_list
from kschedweb.web.errors import Conflict, NotFound, Unprocessable

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot

# Clusters and scenarios in a select.
MOST_CHOICES = 200
# Columns that no page of this app needs.
LARGE = ("policy_document", "baseline_document", "objects_given")
LARGE_OF_TARGET = ("snapshot__content", "snapshot__resource_versions", "revision__text")
TargetT = TypeVar("TargetT", bound=TargetInquiry)


def open_to(user: User, rows: QuerySet[TargetT]) -> QuerySet[TargetT]:
    """Return those of ``rows`` that are not on a scenario that is private to others."""
    shared = readable_by(user, "revision__scenario")
    # An empty condition means that ``user`` may read every scenario.
    return rows.filter(shared | Q(revision=None)) if shared else rows


def gate_list(user: User) -> QuerySet[Gate]:
    """Return the gates that ``user`` may see, newest first, without large fields: all but those on private
    scenarios."""
    listed = Gate.objects.select_related("job", "created_by", "snapshot__cluster", "revision__scenario")
    return open_to(user, listed.defer(*LARGE, *LARGE_OF_TARGET))


def gate_get(user: User, gate_id: UUID | str) -> Gate:
    """Return the gate of this id; raise ``Http404`` if ``user`` may see no such gate."""
    gate = gate_list(user).filter(pk=gate_id).first()
    if gate is None:
        raise Http404("There is no such verdict, or its scenario is not shared with you.")
    return gate


def get_verdict(gate: Gate) -> Json | None:
    """Return the verdict as REST shows it; ``None`` while the job runs. Raise ApplicationError if the job failed."""
    if gate.verdict is not None:
        return {"id": str(gate.pk), **gate.verdict}
    if gate.state == JobState.CANCELLED:
        raise Conflict(gettext("The job was cancelled before there was a verdict: ask again."))
    if gate.state == JobState.FAILED:
        raise Unprocessable((gate.job.error if gate.job else "") or "The job failed before there was a verdict.")
    return None


def snapshot_of(cluster: str, snapshot: str = "") -> Snapshot:
    """Return the named snapshot of a cluster, or its newest; the error for a missing one names the field."""
    try:
        return snapshot_asked(cluster, snapshot)
    except (Http404, NotFound) as error:
        raise missing_error("snapshot.id" if snapshot else "snapshot.cluster", error) from None


def scenario_of(user: User, scenario: UUID | str, number: int | None = None) -> ScenarioRevision:
    """Return a revision of a scenario, or its newest; the error for a missing one names the field."""
    try:
        return revision_get(scenario_get(user, scenario), number)
    except Http404 as error:
        raise missing_error("scenario.revision" if number else "scenario.id", error) from None


def missing_error(path: str, error: Exception) -> NotFound:
    """Return ``error`` as an error of the field ``path``."""
    return NotFound.at(path, str(error.args[0]) if error.args else "There is no such thing.")


def cluster_choices() -> list[tuple[str, str]]:
    """Return the clusters with snapshots, as "cluster:NAME" and label."""
    read = Cluster.objects.filter(snapshots__complete=True).distinct().order_by("name")
    return [
        (f"cluster:{name}", gettext("%(cluster)s, latest snapshot") % {"cluster": name})
        for name in read.values_list("name", flat=True)[:MOST_CHOICES]
    ]


def scenario_choices(user: User) -> list[tuple[str, str]]:
    """Return the scenarios that ``user`` may read, as "scenario:ID" and name."""
    return [(f"scenario:{scenario.pk}", scenario.title) for scenario in scenario_list(user)[:MOST_CHOICES]]
