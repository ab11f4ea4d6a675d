"""Switches annotations on and off, writes and removes them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import structlog
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from kschedweb.accounts import audit
from kschedweb.clusters.annotation_writes import (
    KINDS,
    Patch,
    WriteReport,
    annotations_read,
    annotations_write,
    patch_permissions,
)
from kschedweb.clusters.connecting.client import Client, ClusterError
from kschedweb.clusters.connecting.sources import endpoint_of, secret_of
from kschedweb.clusters.kinds import BY_NAME, ObjectKind
from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import CONNECTED
from kschedweb.engine.json_types import Json
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.jobs.services import job_start
from kschedweb.jobs.tasks import Cancelled
from kschedweb.watermarks.annotations.hot_values import hot_values
from kschedweb.watermarks.annotations.plan import (
    AnnotationPlan,
    CraneForm,
    OwnForm,
    by_kind,
    combine_forms,
    plan_removals,
)
from kschedweb.watermarks.annotations.selectors import annotating_get, time_zones
from kschedweb.watermarks.inventory import inventory_of
from kschedweb.watermarks.models import Annotating
from kschedweb.watermarks.selectors import current_watermarks
from kschedweb.web.errors import ApplicationError, Conflict

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.jobs.models import Job

logger = structlog.get_logger(__name__)

NODE = BY_NAME["Node"]
# Seconds; a person waits for the answer.
CHECK_PATIENCE = 15.0
# Seconds of writing; a removal touches every object once.
REMOVAL_SECONDS = 1500.0
# Seconds for reading, in addition to writing.
MARGIN = 30.0
Step = Callable[[int, int], None]


def annotating_save(
    *,
    user: User | None,
    cluster: Cluster,
    own: bool,
    crane: bool,
    time_zone: str,
    rate: int,
    renew: int,
    remove: bool = False,
) -> tuple[Annotating, Job | None]:
    """Save what is written to ``cluster``. With ``remove``, a job removes the annotations of forms that are now off.

    Raises ``ApplicationError`` for invalid settings, or if the credentials may not patch nodes.
    """
    before = annotating_get(cluster)
    _check_settings(cluster, own_form=own, crane=crane, time_zone=time_zone)
    permissions = _read_permissions(cluster, own_form=own) if own or crane else before.permissions
    values = {"own": own, "crane": crane, "time_zone": time_zone, "rate": rate, "renew": renew}
    with transaction.atomic():
        annotating, _ = Annotating.objects.update_or_create(
            cluster=cluster,
            defaults={**values, "permissions": permissions, "changed_by": user, "changed_at": timezone.now()},
        )
        audit.record(user, "annotations.set", cluster, cluster.name, remove=remove, **values)
        off = {"own": before.own and not own, "crane": before.crane and not crane}
        job = _remove_job(cluster, user, off) if remove and any(off.values()) else None
    return annotating, job


def _remove_job(cluster: Cluster, user: User | None, forms: dict[str, bool]) -> Job:
    title, params = f"Remove annotations from {cluster.name}", {"cluster": str(cluster.pk), **forms}
    return job_start("watermarks.remove_annotations", title=title, params=params, user=user)


def _check_settings(cluster: Cluster, *, own_form: bool, crane: bool, time_zone: str) -> None:
    if time_zone not in time_zones():
        raise ApplicationError.at(
            "time_zone", f"There is no time zone {time_zone[:64]}: choose one such as Asia/Shanghai or UTC."
        )
    if (own_form or crane) and cluster.source not in CONNECTED:
        message = f"Cluster {cluster.name} is not connected: there is nothing to write to."
        raise Conflict.at("own" if own_form else "crane", message)


def _read_permissions(cluster: Cluster, *, own_form: bool) -> list[Json]:
    """Return the current permissions to patch; empty if the credentials may not make access reviews."""
    try:
        with _open_client(cluster, CHECK_PATIENCE) as client:
            permissions = patch_permissions(client)
    except ClusterError as error:
        if error.code in (403, 404):
            return []
        raise
    if not all(entry["allowed"] for entry in permissions if entry["resource"] == NODE.resource):
        raise ApplicationError.at(
            "own" if own_form else "crane",
            "The cluster's credentials may not patch nodes. Give them docs/rbac-annotations.yaml, or leave this off: "
            "all else works with read access alone.",
        )
    return permissions


def _open_client(cluster: Cluster, patience: float) -> Client:
    secret = secret_of(cluster)
    return Client.open(secret, endpoint=endpoint_of(cluster.source, secret), patience=patience)


def write_start(*, user: User | None, cluster: Cluster) -> Job:
    """Start a job that writes now. Annotations are also written after each collection."""
    if not annotating_get(cluster).writes:
        raise Conflict(
            gettext("Nothing is written to cluster %(cluster)s: switch annotations on first.")
            % {"cluster": cluster.name}
        )
    return job_start(
        "watermarks.write_annotations",
        title=f"Annotate cluster {cluster.name}",
        params={"cluster": str(cluster.pk)},
        user=user,
    )


def annotations_update(
    *, cluster: Cluster, seconds: float, step: Step = lambda completed, total: None
) -> Annotating | None:
    """Write the changed figures of ``cluster``, for at most ``seconds``.

    ``None`` if annotations are off or another run is active. Errors are stored in the row and never raised.
    """
    now = timezone.now()
    rows = Annotating.objects.filter(Q(own=True) | Q(crane=True), cluster=cluster)
    free = Q(running_until=None) | Q(running_until__lt=now)
    # The update is the claim: only one of several workers changes the row.
    if not rows.filter(free).update(running_until=now + timedelta(seconds=seconds + MARGIN)):
        return None
    error, outcome = "", {}
    try:
        outcome = _write_annotations(annotating_get(cluster), seconds, step)
    except ApplicationError as refused:
        error = refused.detail[:500]
    except Cancelled:
        error = "Somebody cancelled it."
        raise
    except Exception:
        logger.exception("annotations_failed", cluster=cluster.name)
        error = "Writing failed for a reason it did not foresee; the log has it."
    finally:
        Annotating.objects.filter(cluster=cluster).update(
            running_until=None, ran_at=timezone.now(), error=error, outcome=outcome
        )
    return annotating_get(cluster)


def _write_annotations(annotating: Annotating, seconds: float, step: Step) -> Json:
    cluster = annotating.cluster
    watermarks = current_watermarks(cluster)
    if watermarks is None:
        raise Conflict(gettext("No figures of cluster %(cluster)s were collected yet.") % {"cluster": cluster.name})
    with _open_client(cluster, seconds + MARGIN) as client:
        plan, trouble = _build_plan(client, annotating, watermarks)
        outcome = annotations_write(client, plan.changes, rate=annotating.rate, seconds=seconds, step=step)
    for reference, reason in trouble:
        outcome.record_failure(reference, reason)
    outcome.gone += plan.missing
    return asdict(outcome) | {"unchanged": plan.unchanged}


def _build_plan(
    client: Client, annotating: Annotating, watermarks: Watermarks
) -> tuple[AnnotationPlan, list[tuple[str, str]]]:
    """Return the plan, and what could not be read."""
    plan, trouble = AnnotationPlan(), list[tuple[str, str]]()
    forms: list[OwnForm | CraneForm] = []
    names_by_kind: dict[ObjectKind, list[str]] = {}
    if annotating.own:
        own_form = OwnForm(watermarks, float(np.nanmax(watermarks.updated)), annotating.renew)
        forms.append(own_form)
        names_by_kind = by_kind(own_form.workloads)
    if annotating.crane:
        forms.append(_crane_form(client, annotating, watermarks, trouble))
    names_by_kind[NODE] = sorted({name for form in forms for name in form.nodes})
    for kind, names in names_by_kind.items():
        try:
            existing = annotations_read(client, kind)
        except ClusterError as error:
            trouble.append((kind.resource, error.detail))
        else:
            plan.add_patches(kind, existing, names, own_form.of_workload if kind is not NODE else combine_forms(forms))
    return plan, trouble


def _crane_form(
    client: Client, annotating: Annotating, watermarks: Watermarks, trouble: list[tuple[str, str]]
) -> CraneForm:
    now, hot = time.time(), None
    try:
        hot = hot_values(client, now)
    except ClusterError as error:
        trouble.append(("events", f"{error.detail} Without them no hot values are written."))
    return CraneForm(watermarks, inventory_of(annotating.cluster), hot, ZoneInfo(annotating.time_zone), now)


def annotations_remove(
    *, cluster: Cluster, own_form: bool, crane: bool, step: Step = lambda completed, total: None
) -> Json:
    """Remove the annotations of one form or both from every object of ``cluster``. Raises ``ClusterError``."""
    annotating = annotating_get(cluster)
    changes: list[Patch] = []
    total = WriteReport()
    with _open_client(cluster, REMOVAL_SECONDS + MARGIN) as client:
        for kind in KINDS:
            try:
                changes += plan_removals(kind, annotations_read(client, kind), own_form=own_form, crane_too=crane)
            except ClusterError as error:
                # 404 means that the cluster does not serve an optional kind.
                if error.code != 404:
                    total.record_failure(kind.resource, error.detail)
        outcome = annotations_write(client, changes, rate=annotating.rate, seconds=REMOVAL_SECONDS, step=step)
    for entry in total.failed:
        outcome.record_failure(entry["object"], entry["reason"])
    return asdict(outcome)
