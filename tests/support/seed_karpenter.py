"""A policy of kind Karpenter."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

DOCUMENT = """\
# Ours.
apiVersion: kschedweb/v1
kind: Karpenter
instanceTypes: ready
nodePools:
  - apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata:
      name: general
    spec:
      limits:
        cpu: 100 # enough
      disruption:
        consolidationPolicy: WhenEmptyOrUnderutilized
        consolidateAfter: 1m
        budgets:
          - nodes: 20%
            reasons: [Underutilized]
      template:
        spec:
          requirements:
            - key: karpenter.sh/capacity-type
              operator: In
              values: [on-demand]
"""


def karpenter(user: User, revisions: int = 1) -> str:
    """The policy ``nodepools`` with so many revisions; its name."""
    from kschedweb.policies.services import policy_create, revision_save

    policy = policy_create(name="nodepools", document=DOCUMENT, author=user)
    for number in range(1, revisions):
        changed = DOCUMENT.replace("consolidateAfter: 1m", f"consolidateAfter: {number + 1}m")
        revision_save(policy=policy, document=changed, author=user, expected=number)
    return policy.name
