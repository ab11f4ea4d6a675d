"""People from outside: finds or creates the person for an external identity, and gives them their role."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from allauth.socialaccount.models import SocialAccount
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from kschedweb.accounts import audit, services
from kschedweb.accounts.administrators import keep_one
from kschedweb.accounts.models import AuditEntry, ProviderSession, User
from kschedweb.accounts.roles import Action
from kschedweb.web.errors import ApplicationError, Conflict

if TYPE_CHECKING:
    from kschedweb.accounts.signin.rules import RoleRules

# The characters that UnicodeUsernameValidator refuses.
NOT_IN_NAMES = re.compile(r"[^\w.@+-]+")
ROLE_KEPT = "user.role-kept"
# Characters of a subject (the column's length), names of groups, and characters of each.
LONGEST_SUBJECT, MOST_GROUPS, LONGEST_GROUP = 191, 1000, 255


@dataclass(frozen=True)
class ExternalIdentity:
    """A person as an identity provider describes them. Only ``subject`` identifies them."""

    provider: str
    subject: str
    username: str
    # Names of groups, in the provider's order.
    groups: tuple[str, ...] = ()
    email: str = ""
    email_verified: bool = False


class SignInRefused(ApplicationError):
    """Somebody may not sign in. ``reason`` is named on the page and in the audit trail: see refusals.py."""

    status = 403

    def __init__(self, reason: str, user: User | None = None) -> None:
        super().__init__(reason)
        self.reason, self.user = reason, user


def groups_read(claim: object) -> tuple[str, ...]:
    """Return the names in a claim: a list of texts, or one text. Anything else names none."""
    candidates = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
    names = [name for name in candidates if isinstance(name, str) and 0 < len(name) <= LONGEST_GROUP]
    return tuple(dict.fromkeys(names[:MOST_GROUPS]))


def person_accept(*, outsider: ExternalIdentity, rules: RoleRules, link_verified_email: bool = False) -> User:
    """Return the person for ``outsider``, created if missing, with the role of ``rules``. Raises SignInRefused."""
    if not 0 < len(outsider.subject) <= LONGEST_SUBJECT:
        raise SignInRefused("subject")
    role = rules.role_of(outsider.groups)
    user = _find_linked_user(outsider)
    if role is None:
        # Their sessions end at once: no rule lets them in any more.
        if user is not None:
            person_shut_out(user=user)
        raise SignInRefused("groups", user)
    if user is not None and not user.is_active:
        raise SignInRefused("deactivated", user)
    try:
        with transaction.atomic():
            user = user or _link_by_email(outsider, link_verified_email) or _create_user(outsider, role)
            return _sync_groups(user, outsider, role, rules)
    # Another request of the same person was first.
    except IntegrityError:
        user = _find_linked_user(outsider)
        if user is None:
            raise
        return _sync_groups(user, outsider, role, rules)


@transaction.atomic
def person_shut_out(*, user: User) -> None:
    """End the sessions of ``user``, whom no rule lets in any more, and revoke their tokens."""
    User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1, provider_groups=[])
    ProviderSession.objects.filter(user=user).delete()
    services.tokens_revoke(actor=None, user=user)


def _find_linked_user(outsider: ExternalIdentity) -> User | None:
    account = SocialAccount.objects.filter(provider=outsider.provider, uid=outsider.subject).select_related("user")
    social_account = account.first()
    return social_account.user if social_account else None


def _link_by_email(outsider: ExternalIdentity, by_email: bool) -> User | None:
    """Return the person of this site with the verified address of ``outsider``, if the operator wants that."""
    if not (by_email and outsider.email and outsider.email_verified):
        return None
    # Two people with one address: nobody can say which of them it is.
    users = list(User.objects.filter(email__iexact=outsider.email, is_active=True, provider="")[:2])
    if len(users) != 1:
        return None
    SocialAccount.objects.create(provider=outsider.provider, uid=outsider.subject, user=users[0])
    audit.record(users[0], "user.linked", users[0], users[0].username, provider=outsider.provider, by="verified email")
    return users[0]


def _create_user(outsider: ExternalIdentity, role: str) -> User:
    user = User(username=_free_name(outsider), email=outsider.email[:254], role=role, provider=outsider.provider)
    user.provider_groups = list(outsider.groups)
    user.set_unusable_password()
    user.save()
    SocialAccount.objects.create(provider=outsider.provider, uid=outsider.subject, user=user)
    audit.record(None, "user.created", user, user.username, role=role, provider=outsider.provider)
    return user


def _free_name(outsider: ExternalIdentity) -> str:
    """Return the name that the provider gives, with a number if somebody else has it."""
    base_name = NOT_IN_NAMES.sub("-", outsider.username).strip("-")[:140] or outsider.provider
    name, number = base_name, 1
    while User.objects.filter(username__iexact=name).exists():
        number += 1
        name = f"{base_name}-{number}"
    return name


def _is_last_admin(user: User) -> bool:
    try:
        # Read anew, because ``user`` may have cached what it may do.
        keep_one(user=User.objects.get(pk=user.pk))
    except Conflict:
        return True
    return False


def _tell_kept(user: User, role: str) -> None:
    """Write down, once an hour, that ``user`` keeps their role though their provider says ``role`` now."""
    since = timezone.now() - timedelta(hours=1)
    if not AuditEntry.objects.filter(verb=ROLE_KEPT, object_id=str(user.pk), at__gt=since).exists():
        audit.record(None, ROLE_KEPT, user, user.username, role=user.role, told=role, provider=user.provider)


@transaction.atomic
def _sync_groups(user: User, outsider: ExternalIdentity, role: str, rules: RoleRules) -> User:
    """Set role and groups to what the provider says now, at once, in all sessions and for tokens.

    The last one who can administer keeps the role until somebody else can, too.
    """
    user = User.objects.select_for_update().get(pk=user.pk)
    groups = list(outsider.groups)
    if (user.role, user.provider, user.provider_groups) == (role, outsider.provider, groups):
        return user
    followed = User(pk=user.pk, role=role, provider=outsider.provider, provider_groups=groups)
    if not followed.everywhere(Action.ADMINISTER) and _is_last_admin(user):
        # People without a provider log in with a password: linking them to fewer rights would take that way from them.
        if not user.provider:
            raise SignInRefused("last-admin", user)
        _tell_kept(user, role)
        return user
    if user.role != role:
        audit.record(
            None,
            "user.role-changed",
            user,
            user.username,
            before=user.role,
            after=role,
            provider=outsider.provider,
        )
    before, after = (sorted(map(str, rules.grants_for(names))) for names in (user.provider_groups or (), groups))
    if before != after:
        changes = {"before": before, "after": after, "provider": outsider.provider}
        audit.record(None, "user.grants-changed", user, user.username, **changes)
    user.role, user.provider, user.provider_groups = role, outsider.provider, groups
    user.save(update_fields=["role", "provider", "provider_groups"])
    return user
