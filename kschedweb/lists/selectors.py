"""Reads a person's choices for lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404

from kschedweb.lists.models import SavedView
from kschedweb.web import tables

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.accounts.models import User


def table_get(name: str) -> tables.Table:
    """Return the list called ``name``. Raises ``Http404``."""
    table = tables.find_table(name)
    if table is None:
        raise Http404(f"There is no list {name}.")
    return table


def hidden_columns(user: User, table: tables.Table) -> list[str]:
    """Return the keys of the columns of ``table`` that ``user`` hides, as far as the table still has them."""
    keys = list_saved_views(user, table.name).filter(name="").values_list("hidden", flat=True).first()
    return [key for key in table.optional if key in (keys or ())]


def list_saved_views(user: User, table: str) -> QuerySet[SavedView]:
    """Return the views of ``user`` of one list, including the choice without a view."""
    return SavedView.objects.filter(user=user, table=table)


def hidden_by_list(user: User) -> dict[str, list[str]]:
    """Return the columns that ``user`` hides, by the name of the list."""
    return dict(SavedView.objects.filter(user=user, name="").values_list("table", "hidden"))


def view_list(user: User) -> QuerySet[SavedView]:
    """Return the views of ``user``, by list and name."""
    return SavedView.objects.filter(user=user).exclude(name="")


def view_get(user: User, id: int) -> SavedView:
    """Return one view of ``user``. Raises ``Http404``, even for those of others."""
    try:
        return view_list(user).get(pk=id)
    except SavedView.DoesNotExist:
        raise Http404(f"You have no view {id}.") from None
