"""Reads tried changes and their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import Q
from django.http import Http404

from kschedweb.jobs.inquiries import unpack_answer
from kschedweb.playground.scenarios.models import readable_by
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
    return _visible_to(user).defer(*LARGE, *ELSEWHERE, "base__document")


def tried_get(user: User, tried_id: UUID | str) -> TriedChange:
    """One of them, whole; raises ``Http404`` if there is none that ``user`` may see."""
    tried_change = _visible_to(user).defer(*ELSEWHERE).filter(pk=tried_id).first()
    if tried_change is None:
        raise Http404("There is no such tried change, or its scenario is not shared with you.")
    return tried_change


def _visible_to(user: User) -> QuerySet[TriedChange]:
    related = ("job", "created_by", "base__policy", "snapshot__cluster", "revision__scenario")
    listed = TriedChange.objects.select_related(*related)
    shared = readable_by(user, "revision__scenario")
    return listed.filter(shared | Q(revision=None)) if shared else listed


def answer_of(tried_change: TriedChange) -> dict[str, Any] | None:
    """What came of it, as ``services`` keeps it; ``None`` if that is not known yet."""
    if tried_change.content is None:
        return None
    answer: dict[str, Any] = unpack_answer(tried_change.content)
    return answer


def list_changes(answer: dict[str, Any], *, place: str = "", outcome: str = "") -> Iterator[dict[str, Any]]:
    """The pods of an answer that end elsewhere, by ``place``, where they were, and ``outcome``, what became of them.

    "" stands for any.
    """
    for change in answer.get("changes", ()):
        if place in ("", change["of"]) and outcome in ("", change["what"]):
            yield change
