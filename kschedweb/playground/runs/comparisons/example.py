"""The comparison that a new site begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_noop

from kschedweb.playground.runs.services import comparison_start
from kschedweb.playground.scenarios.examples import policy_place, revision_newest
from kschedweb.policies.selectors import DEFAULT_POLICY

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.playground.runs.models import Comparison

TITLE = gettext_noop("Example: does filling nodes leave more of them empty?")


def comparison_example(id: UUID) -> Comparison:
    """Start to compare the default policy with one that fills nodes."""
    policies = [DEFAULT_POLICY, policy_place().policy.name]
    return comparison_start(user=None, revision=revision_newest(), policies=policies, seeds=[1], title=TITLE, id=id)
