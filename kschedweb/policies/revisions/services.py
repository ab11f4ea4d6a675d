"""Saves further revisions of a document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.db.models import Model, QuerySet
from django.utils.translation import gettext

from kschedweb.web.errors import NotFound, PreconditionFailed, Unprocessable

if TYPE_CHECKING:
    from kschedweb.engine.documents.marked_documents import MarkedProblem
    from kschedweb.web.errors import FieldProblem

Saved = TypeVar("Saved", bound=Model)


class InvalidRevision(Unprocessable):
    """The document cannot be saved. ``errors`` have ``line`` and ``column`` as well."""

    # The default message.
    default_detail: str

    def __init__(self, problems: Iterable[MarkedProblem], detail: str = "") -> None:
        self.problems = list(problems)
        errors = [cast("FieldProblem", problem.as_dict()) for problem in self.problems]
        super().__init__(detail or self.default_detail, errors=errors)


class UnacceptedWarnings(Unprocessable):
    """The document can be saved, but nobody accepted its ``warnings`` yet. ``errors`` are these, at their lines."""

    def __init__(self, warnings: Iterable[MarkedProblem]) -> None:
        self.warnings = list(warnings)
        errors = [cast("FieldProblem", problem.as_dict()) for problem in self.warnings]
        detail = gettext("Nothing was saved yet: the document is valid, but has warnings.")
        super().__init__(detail, errors=errors)


def newest_locked(owner: Model, revisions: QuerySet[Saved], expected: int) -> Saved:
    """Lock ``owner`` against new revisions and return the newest of ``revisions``, which are its own.

    ``expected`` is the number of the edited revision. Raises ``PreconditionFailed`` if it is not the newest.
    """
    model: Any = type(owner)
    if not model.objects.select_for_update().filter(pk=owner.pk).exists():
        kind = str(model._meta.verbose_name).capitalize()
        raise NotFound(
            gettext("%(kind)s %(kept)s was deleted in the meantime. Nothing was saved.") % {"kind": kind, "kept": owner}
        )
    newest: Any = revisions.order_by("-number").first()
    # Everything is created with a revision.
    assert newest is not None
    if newest.number != expected:
        raise PreconditionFailed(
            gettext(
                "Revision %(newest)s was saved in the meantime: you edited revision %(expected)s. Nothing was saved."
            )
            % {"newest": newest.number, "expected": expected}
        )
    revision: Saved = newest
    return revision
