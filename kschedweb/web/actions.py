"""What the command palette can do besides going to pages. Apps register theirs in ``ready``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from django.urls import reverse

from kschedweb.web.navigation import VIEW, Choice, choices_of
from kschedweb.web.searching import SearchHit


@dataclass(frozen=True)
class PaletteAction:
    """Something to do: the page ``name`` where it is done, or a POST of ``post`` to it.

    ``keywords`` are other words for it. ``fills``: what the palette's box says next, where it wants a name.
    """

    label: str
    icon: str
    name: str
    keywords: str = ""
    action: str = VIEW
    post: tuple[tuple[str, str], ...] = ()
    copies: bool = False  # the address of the page that is open
    fills: str = ""
    place: int = 50  # among the actions, where nothing is typed


_actions: list[PaletteAction] = []


def register(*actions: PaletteAction) -> None:
    _actions.extend(actions)
    _actions.sort(key=attrgetter("place"))


def hits(may: Callable[[str], bool], query: str) -> Iterator[SearchHit]:
    """The actions that a user ``may`` do; ``query`` is what pages about a cluster keep."""
    for one in _actions:
        if may(one.action):
            address = reverse(one.name) + (query if Choice.CLUSTER in choices_of(one.name) else "")
            yield SearchHit(
                one.label,
                address,
                one.icon,
                keywords=one.keywords,
                post=one.post,
                copies=one.copies,
                fills=one.fills,
            )
