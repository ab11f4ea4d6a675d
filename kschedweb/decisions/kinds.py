"""The decider of each kind of policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedweb.decisions.classic.decider import ClassicDecider
from kschedweb.decisions.profiles import ProfilesDecider
from kschedweb.policies.dialect import Kind

if TYPE_CHECKING:
    from kschedweb.decisions.decider import Decider
    from kschedweb.policies.models import Revision

PROFILES, CLASSIC = ProfilesDecider(), ClassicDecider()
DECIDERS: dict[str, Decider[Any, Any, Any]] = {Kind.PROFILES: PROFILES, Kind.CLASSIC: CLASSIC}


def decider(revision: Revision) -> Decider[Any, Any, Any]:
    return DECIDERS[revision.policy.kind]
