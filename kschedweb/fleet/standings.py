"""Works out how clusters stand, so that a page of a thousand of them reads a row each."""

from __future__ import annotations

from collections import Counter
from time import monotonic
from typing import TYPE_CHECKING, Any

import structlog
from django.db.models.functions import Now
from django.utils import timezone

from kschedweb.advice.costs.selectors import brief
from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.selectors import closed_nodes, snapshot_current
from kschedweb.dashboard import selectors as overview
from kschedweb.decisions.pending.services import default_revision
from kschedweb.fleet.models import Standing
from kschedweb.fleet.selectors import unknown
from kschedweb.jobs.models import Pulse
from kschedweb.watermarks.usage.selectors import present

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kschedweb.watermarks.usage.selectors import Present

logger = structlog.get_logger(__name__)

PULSE = "fleet"
LOOKED_AT = 24 * 3600  # seconds for which standings are brought up to date after somebody looked at them
REASONS, REASON_SECONDS = 8, 20.0


def worked_out(snapshot: Snapshot) -> Standing:
    """Keep how the cluster of ``snapshot`` stood: amounts in millicores and bytes, shares in percent.

    ``cost`` is ``None`` without a price table, ``skew`` and ``used`` are where no use is known.
    """
    use = present(snapshot.cluster, timezone.now())
    counts = overview.counts(snapshot)
    reasons, asked = overview.pending_reasons(default_revision(), snapshot, REASON_SECONDS)
    bill = brief(snapshot, use)
    values = {
        **{name: counts[name] for name in ("nodes", "cordoned", "not_ready", "pods", "held")},
        "pending": counts["waiting"],
        "reasons": reasons[:REASONS],
        "asked": asked,
        **_room(snapshot, use),
        "skew": use.skew(closed_nodes(snapshot)) if use else None,
        "cost": {"unit": bill[0], "hour": bill[1].hour} if bill else None,
    }
    kept, _ = Standing.objects.update_or_create(snapshot=snapshot, defaults={"values": values})
    return kept


def _room(snapshot: Snapshot, use: Present | None) -> dict[str, Any]:
    """Percent requested and used of CPU and memory, on nodes that take pods."""
    sums: Counter[str] = Counter()
    for zone in overview.headroom(snapshot, use):
        for resource in ("cpu", "memory"):
            have = zone[f"{resource}_allocatable"]
            sums[f"{resource}_have"] += have
            sums[f"{resource}_requested"] += zone[f"{resource}_requested"]
            if (used := zone.get(f"{resource}_used")) is not None:
                sums[f"{resource}_known"] += have
                sums[f"{resource}_used"] += used * have
    return {
        resource: {
            "requested": _percent(sums, resource, "requested", "have", 100.0),
            "used": _percent(sums, resource, "used", "known", 1.0),
        }
        for resource in ("cpu", "memory")
    }


def _percent(sums: Mapping[str, float], resource: str, part: str, whole: str, factor: float) -> float | None:
    of = sums[f"{resource}_{whole}"]
    return factor * sums[f"{resource}_{part}"] / of if of else None


def looked_at() -> None:
    """Note that somebody looks at the fleet: for a day its standings follow the snapshots."""
    Pulse.objects.update_or_create(name=PULSE, defaults={"at": Now()})


def catch_up(seconds: float, *, asked: bool = False) -> int:
    """Work out for ``seconds`` what is not known of newest snapshots yet, if somebody looked lately or it is ``asked``.

    Returns how many clusters were brought up to date. One that cannot be read is left out, and logged.
    """
    if not asked and not _looked_lately():
        return 0
    until, done = monotonic() + seconds, 0
    for cluster in unknown():
        if monotonic() > until:
            break
        snapshot = snapshot_current(cluster)
        if snapshot is None or Standing.objects.filter(snapshot=snapshot).exists():
            continue
        try:
            worked_out(snapshot)
        except Exception:
            logger.warning("standing_unknown", cluster=cluster.name, exc_info=True)
            Standing.objects.get_or_create(snapshot=snapshot, defaults={"values": {}})  # it is not tried again
        done += 1
    return done


def _looked_lately() -> bool:
    at = Pulse.objects.filter(name=PULSE).values_list("at", flat=True).first()
    return at is not None and (timezone.now() - at).total_seconds() < LOOKED_AT
