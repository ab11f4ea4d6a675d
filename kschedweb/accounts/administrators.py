"""The administrators of the site. One is always left: no change of people or grants takes the last one."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Q

from kschedweb.accounts.models import Grant, User
from kschedweb.accounts.roles import Action, Role
from kschedweb.accounts.signin.configuration import HEADER
from kschedweb.accounts.signin.local import password_allowed
from kschedweb.web.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet


def list_administrators(ignored_grant: Grant | None = None, *, lock: bool = False) -> Iterator[User]:
    """Yield the active users who have a way in, and are admin in all clusters.

    They are so by role, or by a grant other than ``ignored_grant``.
    """
    for user in chain.from_iterable(rows.iterator() for rows in _query_candidates(lock)):
        if ignored_grant is not None:
            user.grants = [grant for grant in user.grants if grant != ignored_grant]
        if user.everywhere(Action.ADMINISTER) and comes_in(user):
            yield user


def comes_in(user: User) -> bool:
    """Return whether the site still knows a way in for ``user``."""
    if user.provider == HEADER:
        return settings.REMOTE_HEADER is not None
    if user.provider:
        return user.provider in settings.IDENTITY_PROVIDERS
    return user.has_usable_password() and password_allowed(user)


def keep_one(*, user: User | None = None, ignored_grant: Grant | None = None) -> None:
    """Raise Conflict unless somebody other than ``user`` can administer, without the grant ``ignored_grant``.

    Nothing is lost with a user or grant that cannot administer now. Call it within a transaction: candidates are
    locked.
    """
    if user is not None and not user.everywhere(Action.ADMINISTER):
        return
    if ignored_grant is not None and not (ignored_grant.everywhere and ignored_grant.role == Role.ADMIN):
        return
    admins = list_administrators(ignored_grant, lock=True)
    if not any(user is None or admin.pk != user.pk for admin in admins):
        raise Conflict("This is the last active admin. Make somebody else admin first.")


def _query_candidates(lock: bool) -> tuple[QuerySet[User], QuerySet[User]]:
    """Return the users with the role, then those with grants. Only their provider knows the members of groups."""
    people = (User.objects.select_for_update() if lock else User.objects.all()).filter(is_active=True)
    granted = Grant.objects.filter(role=Role.ADMIN, user__isnull=False).values("user")
    by_grants = people.exclude(role=Role.ADMIN).filter(Q(pk__in=granted) | ~Q(provider=""))
    return people.filter(role=Role.ADMIN), by_grants
