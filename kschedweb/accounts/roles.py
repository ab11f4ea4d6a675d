"""Roles and what they allow, in one table. Pages and REST both call ``role_allows``."""

from __future__ import annotations

from typing import Any, Protocol

from django.db import models

from kschedweb.web.translating import gettext_lazy as _


class HasCreator(Protocol):
    """A row that knows who made it."""

    @property
    def created_by_id(self) -> Any: ...


class Person(Protocol):
    """A person with a role, and grants."""

    pk: Any

    def may(self, action: str) -> bool: ...

    def everywhere(self, action: str) -> bool: ...


class Action(models.TextChoices):
    """The action of a page or a REST call; each of them names exactly one."""

    VIEW = "view", _("read clusters, decisions and policies")
    EDIT = "edit", _("change policies, import and refresh clusters")
    APPROVE = "approve", _("decide about waiting pods")
    ADMINISTER = "administer", _("connect clusters, manage people")


class Role(models.TextChoices):
    VIEWER = "viewer", _("Viewer")
    EDITOR = "editor", _("Editor")
    APPROVER = "approver", _("Approver")
    ADMIN = "admin", _("Admin")
    NONE = "none", _("By grants alone")


ALLOWED: dict[str, frozenset[str]] = {
    Role.VIEWER: frozenset({Action.VIEW}),
    Role.EDITOR: frozenset({Action.VIEW, Action.EDIT}),
    Role.APPROVER: frozenset({Action.VIEW, Action.APPROVE}),
    Role.ADMIN: frozenset(Action.values),
    Role.NONE: frozenset(),
}
# From the least to the most. In a cluster where somebody has several roles, the last one is named.
RANKS = (Role.NONE, Role.VIEWER, Role.EDITOR, Role.APPROVER, Role.ADMIN)


# What a token's scope covers: always reading, and the action that it is named after.
SCOPES: dict[str, frozenset[str]] = {
    Action.VIEW: frozenset({Action.VIEW}),
    Action.EDIT: frozenset({Action.VIEW, Action.EDIT}),
    Action.APPROVE: frozenset({Action.VIEW, Action.APPROVE}),
    Action.ADMINISTER: frozenset(Action.values),
}


def scope_allows(scope: str, action: str) -> bool:
    """Return whether a token of ``scope`` may be used for ``action``. Its owner's role counts besides."""
    return action in SCOPES.get(scope, frozenset())


def role_allows(role: str, action: str) -> bool:
    """Return whether a person of ``role`` may do ``action``."""
    return action in ALLOWED.get(role, frozenset())


def may_change(user: Person, row: HasCreator) -> bool:
    """Return whether ``user`` may change ``row``: its maker may while they may edit, and admins always."""
    mine = row.created_by_id is not None and row.created_by_id == user.pk
    return user.everywhere(Action.ADMINISTER) or (mine and user.may(Action.EDIT))
