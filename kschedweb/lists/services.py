"""Changes a person's choices for lists. Nobody else sees them, so the audit trail does not have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from django.db import transaction

from kschedweb.lists.models import NAME_LIMIT, SavedView
from kschedweb.lists.selectors import view_list
from kschedweb.web.conflicts import conflict_where
from kschedweb.web.errors import ApplicationError, Conflict

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.web.tables import Table

# Views of one person.
MOST_VIEWS = 200


def columns_hide(*, user: User, table: Table, hidden: Iterable[str]) -> list[str]:
    """Hide these columns of ``table``, and show the others. Returns the keys in the order of the table."""
    chosen = _check_hidden(table, hidden)
    SavedView.objects.update_or_create(user=user, table=table.name, name="", defaults={"hidden": chosen})
    return chosen


@transaction.atomic
def view_create(
    *, user: User, table: Table, name: str, filters: Mapping[str, str], hidden: Iterable[str] = ()
) -> SavedView:
    """Save a view. Raises ``Conflict`` if ``user`` has one of this name for ``table``."""
    if view_list(user).count() >= MOST_VIEWS:
        raise Conflict(f"You have {MOST_VIEWS} views, the most that one person may have. Delete one first.")
    view = SavedView(user=user, table=table.name)
    return _save_view(view, table, name=name, filters=filters, hidden=hidden)


def view_put(*, user: User, table: Table, name: str, filters: Mapping[str, str], hidden: Iterable[str]) -> SavedView:
    """Save a view, and replace one of the same name."""
    old = view_list(user).filter(table=table.name, name=_check_name(name)).first()
    if old is None:
        return view_create(user=user, table=table, name=name, filters=filters, hidden=hidden)
    return _save_view(old, table, name=name, filters=filters, hidden=hidden)


def view_change(
    *,
    view: SavedView,
    table: Table,
    name: str | None = None,
    filters: Mapping[str, str] | None = None,
    hidden: Iterable[str] | None = None,
) -> SavedView:
    """Change the given parts; ``None`` keeps a part."""
    return _save_view(
        view,
        table,
        name=view.name if name is None else name,
        filters=view.filters if filters is None else filters,
        hidden=view.hidden if hidden is None else hidden,
    )


def view_delete(*, view: SavedView) -> None:
    view.delete()


def _save_view(
    view: SavedView, table: Table, *, name: str, filters: Mapping[str, str], hidden: Iterable[str]
) -> SavedView:
    view.name = _check_name(name)
    if problems := table.find_problems(filters):
        raise ApplicationError("The list does not take these filters.", errors=problems)
    view.filters, view.hidden = dict(filters), _check_hidden(table, hidden)
    namesakes = SavedView.objects.filter(user=view.user, table=table.name, name=view.name).exclude(pk=view.pk)
    with conflict_where(namesakes, Conflict.at("name", f"You have a view {view.name} of this list already.")):
        view.save()
    return view


def _check_name(name: str) -> str:
    """Return the name without blanks around it. Raises ``ApplicationError`` for a name that no view can have."""
    name = name.strip()
    if not name:
        raise ApplicationError.at("name", "Give the view a name.")
    if len(name) > NAME_LIMIT or not name.isprintable():
        raise ApplicationError.at("name", f"A name has at most {NAME_LIMIT} letters, all of them printable.")
    return name


def _check_hidden(table: Table, keys: Iterable[str]) -> list[str]:
    """Return ``keys`` in the order of the table. Raises ``ApplicationError`` for a column that cannot be hidden."""
    hidden_keys = set(keys)
    if unknown := sorted(hidden_keys - set(table.optional)):
        optional_keys = ", ".join(table.optional)
        raise ApplicationError.at(
            "hidden", f"{unknown[0]} is not a column that can be hidden. There are: {optional_keys}."
        )
    return [key for key in table.optional if key in hidden_keys]
