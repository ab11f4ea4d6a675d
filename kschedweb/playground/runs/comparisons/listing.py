"""Comparisons on scenarios and experiments on recorded use, as one list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import CharField, QuerySet, TextChoices, Value

from kschedweb.playground.experiments.models import Experiment
from kschedweb.playground.experiments.selectors import experiment_list
from kschedweb.playground.runs.models import Comparison
from kschedweb.playground.runs.selectors import comparison_list
from kschedweb.playground.scenarios.models import readable_by
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from uuid import UUID

    from kschedweb.accounts.models import User

# The kind and the id of a row.
Key = tuple[str, "UUID"]


class ComparisonKind(TextChoices):
    SCENARIO = "scenario", _("Scenario")
    EXPERIMENT = "experiment", _("Experiment")


@dataclass(frozen=True)
class ComparisonListRow:
    """A line of the list."""

    kind: ComparisonKind
    row: Comparison | Experiment


def list_keys(user: User, kind: str = "") -> QuerySet[Any, tuple[str, UUID, datetime]]:
    """Return kind, id and time of all rows that ``user`` may see, newest first; only those of ``kind`` if it is one."""
    on_scenarios = _annotate_kind(
        Comparison.objects.filter(readable_by(user, "revision__scenario")), ComparisonKind.SCENARIO
    )
    experiments = _annotate_kind(Experiment.objects.all(), ComparisonKind.EXPERIMENT)
    if kind == ComparisonKind.SCENARIO:
        keys = on_scenarios
    elif kind == ComparisonKind.EXPERIMENT:
        keys = experiments
    else:
        # A union of keys sorts and pages both tables in one query; the rows are loaded for one page only.
        keys = on_scenarios.union(experiments, all=True)
    return keys.order_by("-created_at", "-pk")


def load_rows(user: User, chosen: Iterable[tuple[str, UUID, datetime]]) -> list[ComparisonListRow]:
    """Return the lines of ``chosen``, which ``list_keys`` gives, in their order."""
    ids = [(kind, pk) for kind, pk, _ in chosen]
    rows: dict[Key, Comparison | Experiment] = {}
    for comparison in comparison_list(user).filter(pk__in=[pk for kind, pk in ids if kind == ComparisonKind.SCENARIO]):
        rows[ComparisonKind.SCENARIO, comparison.pk] = comparison
    for experiment in experiment_list().filter(pk__in=[pk for kind, pk in ids if kind == ComparisonKind.EXPERIMENT]):
        rows[ComparisonKind.EXPERIMENT, experiment.pk] = experiment
    # A row that was deleted between the two queries is left out.
    return [ComparisonListRow(ComparisonKind(key[0]), rows[key]) for key in ids if key in rows]


def _annotate_kind(rows: QuerySet[Any], kind: ComparisonKind) -> QuerySet[Any, tuple[str, UUID, datetime]]:
    rows_of_kind = rows.annotate(kind=Value(kind.value, CharField()))
    # A union must not have orders within its parts.
    return rows_of_kind.order_by().values_list("kind", "pk", "created_at")
