"""Query sets limited to what grants cover. A model says by which of its fields it belongs to a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self, TypeVar

from django.db import models
from django.db.models import Q

from kschedweb.accounts.reach import Reach, current_reach

Row = TypeVar("Row", bound=models.Model)
Rule = Callable[[Reach], Q]


class CoveredQuerySet(models.QuerySet[Row]):
    """Rows of a model with a rule."""

    def visible_to(self, user: Any, action: str = "view") -> Self:
        """Return the rows within the grants of ``user`` for ``action``."""
        reach = user.reach(action)
        return self if reach is None else self.restrict_to(reach)

    def restrict_to(self, reach: Reach) -> Self:
        return self.filter(rule_of(self.model)(reach))


class Covered(models.Manager[Row]):
    """The manager of rows that belong to a cluster, directly or through other rows.

    ``by`` names the fields that lead to the cluster; the first that is not null counts. If all are null, the row is
    visible to its maker with ``visible_to_creator``, and otherwise only to people who see all clusters. ``rule``
    replaces these fields by a function.

    People who see a cluster in part see none of its rows, unless ``part`` is True (all rows) or "own" (rows that they
    made), or the field ``namespace`` names one of their namespaces. Rows that hang on such rows need ``part`` too.
    """

    def __init__(
        self,
        *by: str,
        visible_to_creator: bool = False,
        rule: Rule | None = None,
        part: bool | Literal["own"] = False,
        namespace: str = "",
    ) -> None:
        super().__init__()
        self.by, self.own, self.rule, self.part, self.namespace = by, visible_to_creator, rule, part, namespace

    def get_queryset(self) -> CoveredQuerySet[Row]:
        rows = CoveredQuerySet[Row](self.model, using=self._db, hints=self._hints)  # type: ignore[attr-defined]
        reach = current_reach()
        return rows if reach is None else rows.restrict_to(reach)

    def visible_to(self, user: Any, action: str = "view") -> CoveredQuerySet[Row]:
        """Return the rows within the grants of ``user`` for ``action``."""
        return self.get_queryset().visible_to(user, action)


def rule_of(model: type[models.Model]) -> Rule:
    """Return the rule of a covered model. Related managers are made without arguments, so the model's own one is
    asked.
    """
    manager = model._default_manager
    assert isinstance(manager, Covered), f"{model.__name__} is not covered"
    base = manager.rule or (lambda reach: _by_fields(model, manager, reach))
    return lambda reach: _in_part(manager, base, reach) if reach.parts else base(reach)


def _in_part(manager: Covered[Any], base: Rule, reach: Reach) -> Q:
    """Return the condition for rows of whole clusters, and for those rows of parts that the manager allows."""
    if manager.namespace:
        condition = base(reach.whole)
        for spaces, part_reach in reach.parts_by_namespaces:
            condition |= base(part_reach) & Q(**{f"{manager.namespace}__in": spaces})
        return condition
    if manager.part == "own":
        return base(reach.whole) | (base(reach.only(reach.parts)) & Q(created_by=reach.user))
    return base(reach if manager.part else reach.whole)


def rows_within(model: type[models.Model], reach: Reach) -> models.QuerySet[models.Model]:
    """Return the rows of ``model`` within ``reach``, as a subquery: a join with a nullable side could not be locked."""
    return model._base_manager.filter(rule_of(model)(reach))


def _by_fields(model: type[models.Model], manager: Covered[Any], reach: Reach) -> Q:
    condition, absent = Q(pk__in=[]), Q()
    for name in manager.by:
        target = model._meta.get_field(name).related_model
        assert isinstance(target, type)
        condition |= absent & Q(**{f"{name}__in": rows_within(target, reach)})
        absent &= Q(**{f"{name}__isnull": True})
    return condition | (absent & Q(created_by=reach.user)) if manager.own else condition
