"""Reads tried changes and their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import Q
from django.http import Http404

from kschedweb.jobs.inquiries import unpacked
from kschedweb.playground.scenarios.models import readable
from kschedweb.playground.trying.models import TriedChange

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from django.db.models import QuerySet

    from kschedweb.accounts.models import User

LARGE = ("base_document", "document", "content")
ELSEWHERE = ("snapshot__content", "snapshot__resource_versions", "revision__text")


def tried_list(user: User) -> QuerySet[TriedChange]:
    """What ``user`` may see, newest first, without large fields: all but what is about private scenarios."""
    return _seen(user).defer(*LARGE, *ELSEWHERE, "base__document")


def tried_get(user: User, tried_id: UUID | str) -> TriedChange:
    """One of them, whole; raises ``Http404`` if there is none that ``user`` may see."""
    found = _seen(user).defer(*ELSEWHERE).filter(pk=tried_id).first()
    if found is None:
        raise Http404("There is no such tried change, or its scenario is not shared with you.")
    return found


def _seen(user: User) -> QuerySet[TriedChange]:
    related = ("job", "created_by", "base__policy", "snapshot__cluster", "revision__scenario")
    listed = TriedChange.objects.select_related(*related)
    shared = readable(user, "revision__scenario")
    return listed.filter(shared | Q(revision=None)) if shared else listed


def answer_of(tried: TriedChange) -> dict[str, Any] | None:
    """What came of it, as ``services`` keeps it; ``None`` if that is not known yet."""
    if tried.content is None:
        return None
    found: dict[str, Any] = unpacked(tried.content)
    return found


def changes(answer: dict[str, Any], *, of: str = "", what: str = "") -> Iterator[dict[str, Any]]:
    """The pods of an answer that end elsewhere, ``of`` those that were placed, by ``what`` became of them; "": any."""
    for one in answer.get("changes", ()):
        if of in ("", one["of"]) and what in ("", one["what"]):
            yield one
