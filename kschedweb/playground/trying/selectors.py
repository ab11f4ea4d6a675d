"""Read tried changes and their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404

from kschedweb.engine.json_types import Json
from kschedweb.jobs.inquiries import unpack_answer
from kschedweb.playground.gate.selectors import LARGE_OF_TARGET, open_to
from kschedweb.playground.trying.models import TriedChange

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from django.db.models import QuerySet

    from kschedweb.accounts.models import User

# Columns that lists do not load.
LARGE = ("base_document", "document", "content")


def tried_list(user: User) -> QuerySet[TriedChange]:
    """Return the changes that ``user`` may see, newest first, without large fields."""
    return _visible_to(user).defer(*LARGE, *LARGE_OF_TARGET, "base__document")


def tried_get(user: User, tried_id: UUID | str) -> TriedChange:
    """Return a tried change with its large fields; raise ``Http404`` if ``user`` may see no such change."""
    tried_change = _visible_to(user).defer(*LARGE_OF_TARGET).filter(pk=tried_id).first()
    if tried_change is None:
        raise Http404("There is no such tried change, or its scenario is not shared with you.")
    return tried_change


def _visible_to(user: User) -> QuerySet[TriedChange]:
    related = ("job", "created_by", "base__policy", "snapshot__cluster", "revision__scenario")
    return open_to(user, TriedChange.objects.select_related(*related))


def answer_of(tried_change: TriedChange) -> Json | None:
    """Return the answer as ``services`` stores it; ``None`` if there is none yet."""
    if tried_change.content is None:
        return None
    answer: Json = unpack_answer(tried_change.content)
    return answer


def list_changes(answer: Json, *, place: str = "", outcome: str = "") -> Iterator[Json]:
    """Yield the pods of an answer that end elsewhere, by ``place`` (PENDING or ALL) and ``outcome``. "" stands for
    any."""
    for change in answer.get("changes", ()):
        if place in ("", change["of"]) and outcome in ("", change["what"]):
            yield change
