"""A person's choices for lists: hidden columns, and saved views. Nobody else sees them."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.models import User
from kschedweb.web import tables

# Characters of the name of a view.
NAME_LIMIT = 80


class SavedView(models.Model):
    """A filter, an order and the hidden columns of a list, by a name."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    table = models.CharField(max_length=64)
    # "" is the list without a view.
    name = models.CharField(max_length=NAME_LIMIT)
    # Parameters of the list's address, including the order.
    filters = models.JSONField(default=dict)
    # Keys of columns.
    hidden = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("table", "name", "id")
        constraints = [models.UniqueConstraint(fields=["user", "table", "name"], name="view_name_once_a_list")]

    @property
    def list(self) -> tables.Table | None:
        """The list; ``None`` if the site no longer has it."""
        return tables.find_table(self.table)
