"""Actions of the command palette, other than going to pages. Apps register theirs in ``ready``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from django.urls import reverse

from kschedweb.web.navigation import VIEW, BarChoice, choices_of
from kschedweb.web.searching import SearchHit


@dataclass(frozen=True)
class PaletteAction:
    """An action of the palette: it opens the page ``name``, or posts ``post`` to it."""

    label: str
    icon: str
    name: str
    # Other words for it, by which it is found.
    keywords: str = ""
    # The action that the user must be allowed to do.
    action: str = VIEW
    post: tuple[tuple[str, str], ...] = ()
    # True to copy the address of the page that is open.
    copies: bool = False
    # The text that the palette's box gets, if the action needs a name.
    fills: str = ""
    # The position among the actions, as long as nothing is typed.
    place: int = 50


_actions: list[PaletteAction] = []


def register_actions(*actions: PaletteAction) -> None:
    _actions.extend(actions)
    _actions.sort(key=attrgetter("place"))


def find_actions(may: Callable[[str], bool], query: str) -> Iterator[SearchHit]:
    """Return the actions that a user ``may`` do. Pages that depend on the cluster get ``query``."""
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
