"""A classic policy with something of every kind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

POLICY: dict[str, Any] = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [
        {"name": "GeneralPredicates"},
        {"name": "PodToleratesNodeTaints"},
        {"name": "CheckNodeMemoryPressure"},
        {"name": "MatchInterPodAffinity"},
        {"name": "CheckNodeLabelPresence", "argument": {"labelsPresence": {"labels": ["retiring"], "presence": False}}},
        {"name": "CheckServiceAffinity", "argument": {"serviceAffinity": {"labels": ["region"]}}},
    ],
    "priorities": [
        {"name": "LeastRequestedPriority", "weight": 1},
        {"name": "BalancedResourceAllocation", "weight": 1},
        {"name": "SelectorSpreadPriority", "weight": 2},
        {"name": "NodePreferAvoidPodsPriority", "weight": 10000},
        {"name": "FastDisks", "weight": 2, "argument": {"labelPreference": {"label": "ssd", "presence": True}}},
    ],
    "hardPodAffinitySymmetricWeight": 10,
}


def classic(user: User, name: str = "old", revisions: int = 1) -> str:
    """A classic policy; its name."""
    from kschedweb.policies.services import policy_create, revision_save

    policy = policy_create(name=name, document=json.dumps(POLICY, indent=2), author=user)
    for number in range(1, revisions):
        changed = json.dumps(POLICY | {"hardPodAffinitySymmetricWeight": number}, indent=2)
        revision_save(policy=policy, document=changed, author=user, expected=number)
    return policy.name
