"""Compute summaries of clusters, so that a page of a thousand clusters reads only one row for each."""

from __future__ import annotations

from collections import defaultdict
from time import monotonic
from typing import TYPE_CHECKING

import structlog
from django.db.models.functions import Now
from django.utils import timezone

from kschedweb.advice.costs.selectors import summarize_cost
from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.selectors import closed_nodes, snapshot_current
from kschedweb.dashboard import selectors as overview
from kschedweb.decisions.pending.services import default_revision
from kschedweb.fleet.models import Standing
from kschedweb.fleet.selectors import list_unknown
from kschedweb.jobs.models import Pulse
from kschedweb.watermarks.usage.selectors import load_current_use

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kschedweb.watermarks.usage.selectors import CurrentUse

logger = structlog.get_logger(__name__)

PULSE = "fleet"
# Seconds for which summaries are kept up to date after somebody viewed the fleet.
VIEWED_SECONDS = 24 * 3600
# Reasons that a summary has, and the seconds for deciding about pending pods.
REASONS, REASON_SECONDS = 8, 20.0


def compute_summary(snapshot: Snapshot) -> Standing:
    """Compute and store the summary of ``snapshot``: amounts in millicores and bytes, shares in percent.

    ``cost`` is None without a price table; ``skew`` and ``used`` are None if no usage is known.
    """
    use = load_current_use(snapshot.cluster, timezone.now())
    counts = overview.count_objects(snapshot)
    pending = overview.pending_reasons(default_revision(), snapshot, REASON_SECONDS)
    bill = summarize_cost(snapshot, use)
    values = {
        **{name: counts[name] for name in ("nodes", "cordoned", "not_ready", "pods", "held")},
        "pending": counts["waiting"],
        "reasons": pending.count_reasons()[:REASONS],
        "asked": len(pending.by_pod),
        **_compute_room(snapshot, use),
        "skew": use.compute_skew(closed_nodes(snapshot)) if use else None,
        "cost": {"unit": bill[0], "hour": bill[1].hour} if bill else None,
    }
    row, _ = Standing.objects.update_or_create(snapshot=snapshot, defaults={"values": values})
    return row


def _compute_room(snapshot: Snapshot, use: CurrentUse | None) -> dict[str, dict[str, float | None]]:
    """Return the requested and used percentage of CPU and memory, on nodes that take pods."""
    sums: dict[str, float] = defaultdict(float)
    for zone in overview.compute_headroom(snapshot, use):
        for resource, headroom in (("cpu", zone.cpu), ("memory", zone.memory)):
            sums[f"{resource}_have"] += headroom.allocatable
            sums[f"{resource}_requested"] += headroom.requested
            if headroom.used is not None:
                sums[f"{resource}_known"] += headroom.allocatable
                sums[f"{resource}_used"] += headroom.used * headroom.allocatable
    return {
        resource: {
            "requested": _compute_percent(sums, resource, "requested", "have", 100.0),
            "used": _compute_percent(sums, resource, "used", "known", 1.0),
        }
        for resource in ("cpu", "memory")
    }


def _compute_percent(sums: Mapping[str, float], resource: str, part: str, whole: str, factor: float) -> float | None:
    total = sums[f"{resource}_{whole}"]
    return factor * sums[f"{resource}_{part}"] / total if total else None


def mark_viewed() -> None:
    """Record that somebody views the fleet: for a day its summaries follow the snapshots."""
    Pulse.objects.update_or_create(name=PULSE, defaults={"at": Now()})


def refresh_stale(seconds: float, *, force: bool = False) -> int:
    """Compute missing summaries of newest snapshots for ``seconds``, if the fleet was viewed lately or by ``force``.

    Returns how many clusters were brought up to date. One that cannot be read is logged and left out.
    """
    if not force and not _viewed_recently():
        return 0
    deadline, refreshed = monotonic() + seconds, 0
    for cluster in list_unknown():
        if monotonic() > deadline:
            break
        snapshot = snapshot_current(cluster)
        if snapshot is None or Standing.objects.filter(snapshot=snapshot).exists():
            continue
        try:
            compute_summary(snapshot)
        except Exception:
            logger.warning("standing_unknown", cluster=cluster.name, exc_info=True)
            # An empty summary marks the snapshot, so that it is not tried again.
            Standing.objects.get_or_create(snapshot=snapshot, defaults={"values": {}})
        refreshed += 1
    return refreshed


def _viewed_recently() -> bool:
    at = Pulse.objects.filter(name=PULSE).values_list("at", flat=True).first()
    return at is not None and (timezone.now() - at).total_seconds() < VIEWED_SECONDS
