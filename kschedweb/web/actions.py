"""What the command palette can do besides going to pages. Apps register theirs in ``ready``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from django.urls import reverse

from kschedweb.web.navigation import VIEW, BarChoice, choices_of
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


def register_actions(*actions: PaletteAction) -> None:
    _actions.extend(actions)
    _actions.sort(key=attrgetter("place"))


def find_actions(may: Callable[[str], bool], query: str) -> Iterator[SearchHit]:
    """The actions that a user ``may`` do; ``query`` is what pages about a cluster keep."""
    for action in _actions:
        if may(action.action):
            address = reverse(action.name) + (query if BarChoice.CLUSTER in choices_of(action.name) else "")
            yield SearchHit(
                action.label,
                address,
                action.icon,
                keywords=action.keywords,
                post=action.post,
                copies=action.copies,
                fills=action.fills,
            )
