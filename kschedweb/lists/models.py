"""How a person likes lists: the columns they hide, and the views they saved. Nobody else sees either."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.models import User
from kschedweb.web import tables

NAME_LIMIT = 80


class SavedView(models.Model):
    """A filter, an order and the hidden columns of a list, by a name; "" is how the list shows without a view."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    table = models.CharField(max_length=64)
    name = models.CharField(max_length=NAME_LIMIT)
    filters = models.JSONField(default=dict)  # parameters of the list's address, the order among them
    hidden = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("table", "name", "id")
        constraints = [models.UniqueConstraint(fields=["user", "table", "name"], name="view_name_once_a_list")]

    @property
    def list(self) -> tables.Table | None:
        """The list, ``None`` where the site has it no more."""
        return tables.find_table(self.table)
