"""Every change of policies. A saved revision is valid for kube-scheduler and is never changed afterwards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from kschedweb.accounts import audit
from kschedweb.engine import config
from kschedweb.errors import ApplicationError, Conflict, FieldProblem, NotFound
from kschedweb.policies.document import kept
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.revisions import services as revisions
from kschedweb.policies.selectors import DEFAULT_POLICY
from kschedweb.policies.validation import check

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

DEFAULT_DOCUMENT = config.default_document()
NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
NAME_HELP = "Lower-case letters, digits and hyphens, at most 63, beginning and ending with a letter or digit."
# Addresses of their own beside /policies/<name>/.
RESERVED = frozenset({"new", "validate"})


class InvalidDocument(revisions.InvalidDocument):
    said = "kube-scheduler would not take this document."


def document_checked(document: str) -> str:
    """``document`` as it is kept; :class:`InvalidDocument` with every problem at its line otherwise."""
    text = kept(document)
    checked = check(text)
    if not checked.valid:
        raise InvalidDocument(checked.errors)
    if checked.secrets:
        raise InvalidDocument(checked.secrets, "The document holds a private key or a token.")
    return text


@transaction.atomic
def policy_create(*, name: str, document: str, author: User | None, description: str = "", comment: str = "") -> Policy:
    """A policy with its revision 1; ``Conflict`` where the name is taken."""
    if not NAME.fullmatch(name) or name in RESERVED:
        problem: FieldProblem = {"path": "name", "message": NAME_HELP}
        if name in RESERVED:
            problem["message"] = f"“{name}” is kept for a page of its own: choose another name."
        raise ApplicationError("The name cannot be used.", errors=[problem])
    text = document_checked(document)
    try:
        with transaction.atomic():
            policy = Policy.objects.create(name=name, description=description, created_by=author)
    except IntegrityError:
        taken: FieldProblem = {"path": "name", "message": f"There is a policy named {name} already."}
        raise Conflict("The name is taken.", errors=[taken]) from None
    Revision.objects.create(policy=policy, number=1, document=text, comment=comment, author=author)
    audit.record(author, "policy.created", policy, policy.name, revision=1)
    return policy


@transaction.atomic
def revision_save(*, policy: Policy, document: str, author: User | None, expected: int, comment: str = "") -> Revision:
    """The next revision of ``policy``, or the newest one where it says the same to the letter.

    ``expected`` is the number of the revision that was edited; ``PreconditionFailed`` where it is not the newest.
    """
    newest = revisions.newest_locked(policy, Revision.objects.filter(policy_id=policy.pk), expected)
    text = document_checked(document)
    if text == newest.document:
        return newest
    revision = Revision.objects.create(
        policy=policy, number=newest.number + 1, document=text, comment=comment, author=author
    )
    audit.record(author, "policy.saved", policy, policy.name, revision=revision.number, comment=comment)
    return revision


@transaction.atomic
def revision_restore(*, policy: Policy, number: int, author: User | None, expected: int) -> Revision:
    """A new revision that says what revision ``number`` said."""
    newest = revisions.newest_locked(policy, Revision.objects.filter(policy_id=policy.pk), expected)
    old = policy.revisions.filter(number=number).first()
    if old is None:
        raise NotFound(f"Policy {policy.name} has no revision {number}.")
    text = document_checked(old.document)
    if text == newest.document:
        return newest
    revision = Revision.objects.create(
        policy=policy, number=newest.number + 1, document=text, comment=f"Restored revision {number}", author=author
    )
    audit.record(author, "policy.restored", policy, policy.name, revision=revision.number, restored=number)
    return revision


@transaction.atomic
def policy_describe(*, policy: Policy, description: str, author: User | None) -> Policy:
    """Set the description, the one thing about a policy that has no revisions."""
    if policy.description != description:
        policy.description = description
        policy.save(update_fields=["description"])
        audit.record(author, "policy.described", policy, policy.name)
    return policy


@transaction.atomic
def policy_delete(*, policy: Policy, author: User | None) -> None:
    """Delete ``policy`` with all its revisions; ``Conflict`` for the policy `default` and for one that is at work."""
    if policy.name == DEFAULT_POLICY:
        raise Conflict("The policy “default” is always there: it cannot be deleted.")
    audit.record(author, "policy.deleted", policy, policy.name, revisions=policy.revisions.count())
    try:
        with transaction.atomic():
            policy.delete()
    except ProtectedError:
        raise Conflict(f"A live scheduler uses the policy {policy.name}: give it another policy first.") from None
