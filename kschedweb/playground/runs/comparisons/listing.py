"""What was compared, on scenarios and on recorded use, as one list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import CharField, QuerySet, TextChoices, Value

from kschedweb.playground.experiments.models import Experiment
from kschedweb.playground.experiments.selectors import experiment_list
from kschedweb.playground.runs.models import Comparison
from kschedweb.playground.runs.selectors import comparison_list
from kschedweb.playground.scenarios.models import readable
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from uuid import UUID

    from kschedweb.accounts.models import User

Key = tuple[str, "UUID"]  # the kind and the id of a row


class Kind(TextChoices):
    SCENARIO = "scenario", _("Scenario")
    EXPERIMENT = "experiment", _("Experiment")


@dataclass(frozen=True)
class Compared:
    """A line of the list."""

    kind: Kind
    row: Comparison | Experiment


def keys(user: User, kind: str = "") -> QuerySet[Any, tuple[str, UUID, datetime]]:
    """Kind, id and time of all that ``user`` may see, newest first; only of ``kind`` if it is one."""
    on_scenarios = _keys(Comparison.objects.filter(readable(user, "revision__scenario")), Kind.SCENARIO)
    experiments = _keys(Experiment.objects.all(), Kind.EXPERIMENT)
    if kind == Kind.SCENARIO:
        found = on_scenarios
    elif kind == Kind.EXPERIMENT:
        found = experiments
    else:
        found = on_scenarios.union(experiments, all=True)
    return found.order_by("-created_at", "-pk")


def compared(user: User, chosen: Iterable[tuple[str, UUID, datetime]]) -> list[Compared]:
    """The lines of ``chosen``, which ``keys`` gives, in their order."""
    ids = [(kind, pk) for kind, pk, _ in chosen]
    rows: dict[Key, Comparison | Experiment] = {}
    for one in comparison_list(user).filter(pk__in=[pk for kind, pk in ids if kind == Kind.SCENARIO]):
        rows[Kind.SCENARIO, one.pk] = one
    for experiment in experiment_list().filter(pk__in=[pk for kind, pk in ids if kind == Kind.EXPERIMENT]):
        rows[Kind.EXPERIMENT, experiment.pk] = experiment
    return [Compared(Kind(key[0]), rows[key]) for key in ids if key in rows]


def _keys(rows: QuerySet[Any], kind: Kind) -> QuerySet[Any, tuple[str, UUID, datetime]]:
    named = rows.annotate(kind=Value(kind.value, CharField()))
    return named.order_by().values_list("kind", "pk", "created_at")
