"""Saves conversions of classic policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.policies.conversion import selectors
from kschedweb.policies.services import policy_create

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.policies.models import Policy, Revision


def profile_create(*, revision: Revision, name: str, author: User | None) -> Policy:
    """Create the policy ``name`` from the classic ``revision``, which its first comment names."""
    text = selectors.render_document(revision, selectors.convert_revision(revision))
    made_of = f"Converted from {revision.policy.name}, revision {revision.number}"
    return policy_create(name=name, document=text, comment=made_of, author=author)
