"""The decider of each kind of policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from kschedweb.decisions.case import ClassicCase
from kschedweb.decisions.classic.decider import ClassicDecider
from kschedweb.decisions.matrix.comparison import compare_policies
from kschedweb.decisions.profiles import ProfilesDecider
from kschedweb.policies.dialect import PolicyKind

if TYPE_CHECKING:
    from kschedweb.decisions.case import AnyCase
    from kschedweb.decisions.decider import Decider
    from kschedweb.decisions.matrix.comparison import PolicyComparison
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.policies.models import Revision

PROFILES, CLASSIC = ProfilesDecider(), ClassicDecider()
DECIDERS: dict[str, Decider[Any, Any, Any]] = {PolicyKind.PROFILES: PROFILES, PolicyKind.CLASSIC: CLASSIC}


def present_case(case: AnyCase) -> Presentation:
    """Return the presentation of a case of either kind."""
    decider: Decider[Any, Any, Any] = CLASSIC if isinstance(case, ClassicCase) else PROFILES
    return decider.present(case)


def get_decider(revision: Revision) -> Decider[Any, Any, Any]:
    return DECIDERS[revision.policy.kind]


def build_comparison(
    presentation: Presentation, revision: Revision, against: Revision, other: AnyCase
) -> PolicyComparison:
    """Compare ``presentation`` under ``revision`` with ``other``, the same pod under ``against``."""
    return compare_policies(
        presentation, label_revision(revision), label_revision(against), present_case(other).build_headline().title
    )


def label_revision(revision: Revision) -> str:
    parameters = {"policy": revision.policy.name, "item": revision.number}
    return gettext("%(policy)s, revision %(item)s") % parameters
