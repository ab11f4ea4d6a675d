"""Changes of sources, and collections."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import structlog
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from kschedweb.accounts import audit
from kschedweb.celery import app
from kschedweb.clusters.connecting import sources
from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.credentials import Secret, credential_save, encryption_keys
from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import CONNECTED
from kschedweb.watermarks import container_book, selectors, storage
from kschedweb.watermarks.collection import CollectedFigures, CollectionReport, Setup, from_prometheus
from kschedweb.watermarks.figures import NODE, WORKLOAD
from kschedweb.watermarks.inventory import inventory_of
from kschedweb.watermarks.metrics import compute_windows, from_metrics
from kschedweb.watermarks.models import Resolution, SourceKind, WatermarkCredential, WatermarkSource
from kschedweb.watermarks.source_settings import (
    STORED_SETTINGS,
    SourceSettings,
    endpoint_of,
    is_secret,
    secret_of,
    settings_check,
    stored_secret,
)
from kschedweb.web.errors import ApplicationError, Conflict, FieldProblem

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

logger = structlog.get_logger(__name__)

# Seconds; a person waits for the answer.
TEST_SECONDS = 30.0
# The share of the interval for queries; the rest is for storing.
SHARE = 0.75


def source_test(*, user: User | None, cluster: Cluster, settings: SourceSettings) -> CollectionReport:
    """Query the source with ``settings`` and report the result, without storing anything.

    Raises ``ApplicationError`` for invalid settings.
    """
    settings_check(settings)
    secret = secret_of(cluster, settings)
    audit.record(user, "watermarks.source-tested", cluster, cluster.name, kind=settings.kind, address=settings.address)
    return _collect_figures(cluster, settings, secret, at=time.time(), seconds=TEST_SECONDS).report


def source_save(
    *, user: User | None, cluster: Cluster, settings: SourceSettings, force: bool = False
) -> CollectionReport | None:
    """Save the source of ``cluster``. Collection starts at once.

    The source is tested first. If that fails, nothing is saved and ``ApplicationError`` has the fields, unless
    ``force``. Returns ``None`` if there is nothing to test.
    """
    settings_check(settings)
    secret = secret_of(cluster, settings)
    report = None
    if settings.kind != SourceKind.NONE:
        # A missing key must be reported before the source is queried.
        if is_secret(secret):
            encryption_keys()
        report = _collect_figures(cluster, settings, secret, at=time.time(), seconds=TEST_SECONDS).report
        if report.failed and not force:
            raise ApplicationError(
                "Nothing was saved: the source does not answer as the settings say.", errors=report_errors(report)
            )
    with transaction.atomic():
        before = selectors.source_get(cluster)
        stored = {name: getattr(settings, name) for name in STORED_SETTINGS}
        changed = sorted(name for name in STORED_SETTINGS if getattr(before, name) != stored[name])
        stored |= {"queries": dict(settings.queries), "has_ca": bool(secret.ca)}
        if is_secret(secret):
            credential_save(cluster=cluster, secret=secret, model=WatermarkCredential)
        else:
            WatermarkCredential.objects.filter(cluster=cluster).delete()
        # An active run has the old settings: its figures are dropped, and the next run begins at once.
        stored |= {"changed_by": user, "changed_at": timezone.now(), "slot": 0, "running_since": None, "error": ""}
        WatermarkSource.objects.update_or_create(cluster=cluster, defaults=stored)
        audit.record(
            user,
            "watermarks.source-saved",
            cluster,
            cluster.name,
            kind=settings.kind,
            address=settings.address,
            changed=changed,
            problems=report.problems if report else [],
        )
    return report


def report_errors(report: CollectionReport) -> list[FieldProblem]:
    """Return the errors of a test at their fields."""
    errors: dict[str, str] = {}
    for name, query in report.failed.items():
        path = f"queries.{name}" if query.setting == "query" else query.setting
        errors.setdefault("kind" if path == "cluster" else path, query.error)
    return [{"path": path, "message": message} for path, message in errors.items()]


def _collect_figures(cluster: Cluster, settings: Any, secret: Secret, *, at: float, seconds: float) -> CollectedFigures:
    """Make one collection with ``settings``, which may be a source's row."""
    inventory = inventory_of(cluster)
    if settings.kind == SourceKind.METRICS:
        if cluster.source not in CONNECTED:
            raise Conflict(
                gettext("Cluster %(cluster)s is not connected: there is no API server to ask.")
                % {"cluster": cluster.name}
            )
        opened = sources.secret_of(cluster)
        with Client.open(opened, endpoint=sources.endpoint_of(cluster.source, opened), patience=seconds) as client:
            return from_metrics(client, inventory, at=at)
    endpoint = endpoint_of(settings.address, secret)
    setup = Setup(endpoint, secret, settings.node_label, settings.unit, settings.queries)
    return from_prometheus(setup, inventory, at=at, seconds=seconds)


def run_claim(*, cluster_id: Any, now: float, due_only: bool = True) -> WatermarkSource | None:
    """Claim a run for exactly one caller; ``None`` if another run is active, or none is due.

    A run that began two intervals ago is dead, because none lasts longer than one.
    """
    source = WatermarkSource.objects.select_related("cluster").filter(pk=cluster_id).first()
    if source is None or source.kind == SourceKind.NONE:
        return None
    begun = timezone.now()
    is_free = Q(running_since=None) | Q(running_since__lt=begun - timedelta(seconds=2 * source.interval))
    rows = WatermarkSource.objects.filter(is_free, pk=cluster_id, changed_at=source.changed_at)
    slot = int(now) // source.interval
    if due_only:
        rows = rows.filter(slot__lt=slot)
    if not rows.update(slot=slot, running_since=begun):
        return None
    source.slot, source.running_since = slot, begun
    return source


def run_collection(*, source: WatermarkSource, now: float) -> CollectionReport:
    """Do the claimed run. Errors are stored in the source's row, and the figures stay as they are."""
    at = int(now)
    report = CollectionReport(at=at)
    try:
        secret = stored_secret(source.cluster) or Secret(server=source.address)
        collected = _collect_figures(source.cluster, source, secret, at=at, seconds=source.interval * SHARE)
        report = collected.report
        _store_figures(source, collected, at)
    except ApplicationError as error:
        report.problems.insert(0, error.detail)
    except Exception:
        logger.exception("watermarks_run_failed", cluster=source.cluster.name)
        report.problems.insert(0, "The collection failed for a reason it did not foresee; the log has it.")
    finally:
        _finish_run(source, report)
    return report


def _store_figures(source: WatermarkSource, collected: CollectedFigures, at: int) -> None:
    if source.kind == SourceKind.METRICS:
        collected.values |= compute_windows(source.cluster, collected, at=at)
    inventory = collected.inventory
    with transaction.atomic():
        row = WatermarkSource.objects.select_for_update().filter(pk=source.pk).first()
        # The row is locked until the samples are stored, so that no change of settings can come in between.
        if row is None or row.changed_at != source.changed_at or row.running_since != source.running_since:
            raise Conflict(
                gettext("The settings were changed while this collection was going on: its figures were not kept.")
            )
        for kind, names in ((NODE, inventory.nodes), (WORKLOAD, inventory.workloads)):
            values = {
                figure: column
                for figure, column in collected.values_of_kind(kind).items()
                if collected.report.nodes or kind != NODE
            }
            if values and names:
                storage.samples_store(
                    cluster=source.cluster, kind=kind, names=names, rows=[(at, values)], origin=source.kind
                )
    container_book.book_carry(cluster=source.cluster, collected=collected, at=at, origin=source.kind)
    storage.samples_rollup(cluster=source.cluster, now=at)


def _finish_run(source: WatermarkSource, report: CollectionReport) -> None:
    claimed_rows = WatermarkSource.objects.filter(pk=source.pk, running_since=source.running_since)
    now = timezone.now()
    outcome: dict[str, object] = {
        "running_since": None,
        "ran_at": now,
        "error": " ".join(report.problems)[:1000],
        "report": report.as_json(),
    }
    if report.nodes or report.workloads:
        outcome["succeeded_at"] = now
    claimed_rows.update(**outcome)


def run_ask(*, user: User | None, cluster: Cluster) -> None:
    """Start a collection in the background. Raises ``Conflict`` if there is no source, or a run is active."""
    source = selectors.source_get(cluster)
    if source.kind == SourceKind.NONE:
        raise Conflict(
            gettext("Cluster %(cluster)s has no source of figures yet: set one first.") % {"cluster": cluster.name}
        )
    with transaction.atomic():
        audit.record(user, "watermarks.run-asked", cluster, cluster.name, kind=source.kind)
        transaction.on_commit(lambda: _send_collect_task(cluster), robust=True)


def _send_collect_task(cluster: Cluster) -> None:
    app.send_task("kschedweb.watermarks.tasks.collect", [str(cluster.pk)], {"due_only": False}, expires=300)


def samples_forget(*, now: float | None = None) -> int:
    """Delete expired samples of all clusters with a source. Returns their number."""
    deleted, now = 0, time.time() if now is None else now
    for source in WatermarkSource.objects.select_related("cluster"):
        keep = {
            Resolution.COLLECTED: source.keep_hours * 3600,
            Resolution.FIVE_MINUTES: source.keep_days * 86_400,
            Resolution.HOUR: source.keep_long_days * 86_400,
        }
        deleted += storage.samples_prune(cluster=source.cluster, keep=keep, now=int(now))
    return deleted
