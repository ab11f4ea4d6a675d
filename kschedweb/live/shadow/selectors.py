"""Read verdicts: one by one, and as drift over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from django.db.models import Avg, Count, Max, Q, QuerySet
from django.db.models.functions import Trunc
from django.utils import timezone

from kschedweb.live.schedulers.models import Mode
from kschedweb.live.shadow.models import ShadowVerdict, VerdictChoice
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.live.schedulers.models import LiveScheduler

# Key in addresses -> the length, the step of the chart, and words.
SPANS = {
    "1h": (timedelta(hours=1), "minute", _("1 hour")),
    "6h": (timedelta(hours=6), "minute", _("6 hours")),
    "24h": (timedelta(hours=24), "hour", _("24 hours")),
    "7d": (timedelta(days=7), "hour", _("7 days")),
    "30d": (timedelta(days=30), "day", _("30 days")),
}
DEFAULT_SPAN = "24h"
# Verdicts from which drift is computed, the newest ones.
MAX_VERDICTS = 100_000
STEPS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}


@dataclass(frozen=True)
class Drift:
    """The differences between a policy and another scheduler over some time."""

    start: datetime
    # Pods by verdict.
    counts: dict[str, int] = field(default_factory=dict)
    # Points by which the totals of their nodes are below the best, mean and maximum, over pods whose node passes here.
    # None without such pods.
    mean: float | None = None
    most: int | None = None

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def agree(self) -> float | None:
        """Return the percentage of pods on which both agree, None without pods."""
        return 100.0 * self.counts.get(VerdictChoice.AGREE.value, 0) / self.total if self.total else None


@dataclass(frozen=True)
class Cause:
    """A plugin that explains most of the difference, or rejects their node, for ``pods`` pods."""

    plugin: str
    verdict: str
    pods: int
    # Points of the total.
    mean: float | None


def verdict_list(live: LiveScheduler) -> QuerySet[ShadowVerdict]:
    """Return the verdicts, newest first."""
    return live.shadow_verdicts.select_related("revision")


def verdicts_within(live: LiveScheduler, span: str, now: datetime | None = None) -> QuerySet[ShadowVerdict]:
    """Return the verdicts of the last ``span``, a key of SPANS; the newest of them if there are too many."""
    return ShadowVerdict.objects.filter(scheduler=live, at__gte=verdicts_start(live, span, now or timezone.now()))


def verdicts_start(live: LiveScheduler, span: str, now: datetime) -> datetime:
    """Return when the verdicts begin that ``verdicts_within`` returns."""
    since = now - SPANS[span][0]
    times = ShadowVerdict.objects.filter(scheduler=live, at__gte=since).values_list("at", flat=True)
    return next(iter(times[MAX_VERDICTS - 1 : MAX_VERDICTS]), since)


def compute_drift(live: LiveScheduler, span: str = DEFAULT_SPAN, now: datetime | None = None) -> list[Drift]:
    """Return one drift for each minute, hour or day of ``span`` in which a pod was judged, oldest first."""
    step = SPANS[span][1]
    rows = verdicts_within(live, span, now).order_by().annotate(start=Trunc("at", step, tzinfo=UTC))
    return _to_drifts([dict(row) for row in rows.values("start").annotate(**_measure_columns()).order_by("start")])


def compute_summary(live: LiveScheduler, span: str = DEFAULT_SPAN, now: datetime | None = None) -> Drift:
    """Return the drift over the whole span."""
    now = now or timezone.now()
    start = verdicts_start(live, span, now)
    totals = ShadowVerdict.objects.filter(scheduler=live, at__gte=start).order_by().aggregate(**_measure_columns())
    return _to_drifts([{"start": start, **totals}])[0]


def list_causes(live: LiveScheduler, span: str = DEFAULT_SPAN, now: datetime | None = None) -> list[Cause]:
    """Return the causes of differences, the most frequent first."""
    rows = verdicts_within(live, span, now).exclude(verdict=VerdictChoice.AGREE).order_by()
    grouped = rows.values("plugin", "verdict").annotate(pods=Count("pk"), mean=Avg("difference"))
    return [Cause(**row) for row in grouped.order_by("-pods", "plugin", "verdict")]


def list_shadows(schedulers: QuerySet[LiveScheduler], now: datetime | None = None) -> list[tuple[LiveScheduler, Drift]]:
    """Return each scheduler in mode shadow, or with verdicts of the last day, with its drift over that day."""
    start = (now or timezone.now()) - SPANS[DEFAULT_SPAN][0]
    rows = ShadowVerdict.objects.filter(at__gte=start).order_by().values("scheduler").annotate(**_measure_columns())
    judged = {row["scheduler"]: _to_drifts([{"start": start, **row}])[0] for row in rows}
    shadowed = schedulers.filter(Q(mode=Mode.SHADOW) | Q(pk__in=judged))
    return [(live, judged.get(live.pk, Drift(start))) for live in shadowed]


def _measure_columns() -> dict[str, Avg | Max | Count]:
    counts = {f"n_{choice.name}": Count("pk", filter=Q(verdict=choice.value)) for choice in VerdictChoice}
    return {"mean": Avg("difference"), "most": Max("difference"), **counts}


def _to_drifts(rows: Sequence[dict[str, object]]) -> list[Drift]:
    return [
        Drift(
            row["start"],  # type: ignore[arg-type]
            {choice.value: row[f"n_{choice.name}"] for choice in VerdictChoice},  # type: ignore[misc]
            row["mean"],  # type: ignore[arg-type]
            row["most"],  # type: ignore[arg-type]
        )
        for row in rows
    ]
