"""The decider of each kind of policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from kschedweb.decisions.case import ClassicCase
from kschedweb.decisions.classic.decider import ClassicDecider
from kschedweb.decisions.matrix.comparing import compare
from kschedweb.decisions.profiles import ProfilesDecider
from kschedweb.policies.dialect import Kind

if TYPE_CHECKING:
    from kschedweb.decisions.case import AnyCase
    from kschedweb.decisions.decider import Decider
    from kschedweb.decisions.matrix.comparing import Comparison
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.policies.models import Revision

PROFILES, CLASSIC = ProfilesDecider(), ClassicDecider()
DECIDERS: dict[str, Decider[Any, Any, Any]] = {Kind.PROFILES: PROFILES, Kind.CLASSIC: CLASSIC}


def presented(case: AnyCase) -> Presentation:
    """The presentation of a case, of whichever kind it is."""
    decides: Decider[Any, Any, Any] = CLASSIC if isinstance(case, ClassicCase) else PROFILES
    return decides.present(case)


def decider(revision: Revision) -> Decider[Any, Any, Any]:
    return DECIDERS[revision.policy.kind]


def comparison(shown: Presentation, revision: Revision, against: Revision, other: AnyCase) -> Comparison:
    """``shown`` under ``revision`` beside ``other``, the same pod under ``against``."""
    return compare(shown, named(revision), named(against), presented(other).answer().title)


def named(revision: Revision) -> str:
    told = {"policy": revision.policy.name, "item": revision.number}
    return gettext("%(policy)s, revision %(item)s") % told
