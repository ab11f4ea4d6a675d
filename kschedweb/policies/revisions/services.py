"""Saving a further revision of a document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.db.models import Model, QuerySet

from kschedweb.web.errors import NotFound, PreconditionFailed, Unprocessable

if TYPE_CHECKING:
    from kschedweb.engine.documents.marked import Problem
    from kschedweb.web.errors import FieldProblem

Saved = TypeVar("Saved", bound=Model)


class InvalidDocument(Unprocessable):
    """The document cannot be kept; ``errors`` have ``line`` and ``column`` as well."""

    said: str  # unless there is more to say

    def __init__(self, problems: Iterable[Problem], detail: str = "") -> None:
        self.problems = list(problems)
        errors = [cast("FieldProblem", problem.as_dict()) for problem in self.problems]
        super().__init__(detail or self.said, errors=errors)


def newest_locked(kept: Model, revisions: QuerySet[Saved], expected: int) -> Saved:
    """The newest of ``revisions``, which are those of ``kept``, while nobody else can add one.

    ``expected`` is the number of the revision that was edited; ``PreconditionFailed`` where it is not the newest.
    """
    model: Any = type(kept)
    if not model.objects.select_for_update().filter(pk=kept.pk).exists():
        kind = str(model._meta.verbose_name).capitalize()
        raise NotFound(f"{kind} {kept} was deleted in the meantime. Nothing was saved.")
    newest: Any = revisions.order_by("-number").first()
    assert newest is not None  # everything is made with a revision
    if newest.number != expected:
        raise PreconditionFailed(
            f"Revision {newest.number} was saved in the meantime: you edited revision {expected}. Nothing was saved."
        )
    found: Saved = newest
    return found
