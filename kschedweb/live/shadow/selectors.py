"""Reading verdicts: one by one, and as drift over time."""

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

SPANS = {
    "1h": (timedelta(hours=1), "minute", _("1 hour")),
    "6h": (timedelta(hours=6), "minute", _("6 hours")),
    "24h": (timedelta(hours=24), "hour", _("24 hours")),
    "7d": (timedelta(days=7), "hour", _("7 days")),
    "30d": (timedelta(days=30), "day", _("30 days")),
}
DEFAULT_SPAN = "24h"
MAX_VERDICTS = 100_000  # verdicts that drift is worked out of
STEPS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}


@dataclass(frozen=True)
class Drift:
    """How far a policy and another scheduler are apart over some time, which begins at ``start``.

    ``counts`` are pods by verdict; ``mean`` and ``most`` are points by which the totals of their nodes are below the
    best, over pods whose node passes here (``None``: there are none).
    """

    start: datetime
    counts: dict[str, int] = field(default_factory=dict)
    mean: float | None = None
    most: int | None = None

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def agree(self) -> float | None:
        """Percent of the pods."""
        return 100.0 * self.counts.get(VerdictChoice.AGREE.value, 0) / self.total if self.total else None


@dataclass(frozen=True)
class Cause:
    """A plugin that explains most of the difference, or rejects their node, for ``pods`` pods."""

    plugin: str
    verdict: str
    pods: int
    mean: float | None  # points


def verdict_list(live: LiveScheduler) -> QuerySet[ShadowVerdict]:
    """Newest first."""
    return live.shadow_verdicts.select_related("revision")


def verdicts_within(live: LiveScheduler, span: str, now: datetime | None = None) -> QuerySet[ShadowVerdict]:
    """The verdicts of the last ``span``, a key of SPANS; of very many the newest."""
    return ShadowVerdict.objects.filter(scheduler=live, at__gte=verdicts_start(live, span, now or timezone.now()))


def verdicts_start(live: LiveScheduler, span: str, now: datetime) -> datetime:
    """When the verdicts begin that ``verdicts_within`` has."""
    since = now - SPANS[span][0]
    times = ShadowVerdict.objects.filter(scheduler=live, at__gte=since).values_list("at", flat=True)
    return next(iter(times[MAX_VERDICTS - 1 : MAX_VERDICTS]), since)


def compute_drift(live: LiveScheduler, span: str = DEFAULT_SPAN, now: datetime | None = None) -> list[Drift]:
    """One for each minute, hour or day of ``span`` in which a pod was judged, oldest first."""
    step = SPANS[span][1]
    rows = verdicts_within(live, span, now).order_by().annotate(start=Trunc("at", step, tzinfo=UTC))
    return _to_drifts([dict(row) for row in rows.values("start").annotate(**_measure_columns()).order_by("start")])


def compute_summary(live: LiveScheduler, span: str = DEFAULT_SPAN, now: datetime | None = None) -> Drift:
    """The same over the whole span."""
    now = now or timezone.now()
    start = verdicts_start(live, span, now)
    totals = ShadowVerdict.objects.filter(scheduler=live, at__gte=start).order_by().aggregate(**_measure_columns())
    return _to_drifts([{"start": start, **totals}])[0]


def list_causes(live: LiveScheduler, span: str = DEFAULT_SPAN, now: datetime | None = None) -> list[Cause]:
    """What the two are apart by, the most frequent first."""
    rows = verdicts_within(live, span, now).exclude(verdict=VerdictChoice.AGREE).order_by()
    grouped = rows.values("plugin", "verdict").annotate(pods=Count("pk"), mean=Avg("difference"))
    return [Cause(**row) for row in grouped.order_by("-pods", "plugin", "verdict")]


def list_shadows(schedulers: QuerySet[LiveScheduler], now: datetime | None = None) -> list[tuple[LiveScheduler, Drift]]:
    """Each of ``schedulers`` in mode shadow, or with verdicts of the last day, and these as one drift."""
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
