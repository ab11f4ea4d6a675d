"""A policy file of crane-scheduler, and a policy that points at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

FILE = """\
# Ours.
apiVersion: scheduler.policy.crane.io/v1alpha1
kind: DynamicSchedulerPolicy
spec:
  syncPolicy:
    ##cpu usage
    - name: cpu_usage_avg_5m
      period: 3m
  predicate:
    - name: cpu_usage_avg_5m
      maxLimitPecent: 0.65 # crane spells it so
  priority:
    - name: cpu_usage_avg_5m
      weight: 0.2
  hotValue:
    - timeRange: 5m
      count: 5
    - timeRange: 1m
      count: 2
"""
POINTS = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - plugins: {multiPoint: {enabled: [{name: Dynamic, weight: 3}]}}
    pluginConfig:
      - name: Dynamic
        args: {policyConfigPath: /etc/kubernetes/watermark.yaml}
"""


def crane(user: User, revisions: int = 1) -> str:
    """The policy file ``watermark`` with so many revisions, at which the policy ``aware`` points; its name."""
    from kschedweb.policies.services import policy_create, revision_save

    policy = policy_create(name="watermark", document=FILE, author=user)
    policy_create(name="aware", document=POINTS, author=user)
    for number in range(1, revisions):
        changed = FILE.replace("weight: 0.2", f"weight: 0.{number + 2}")
        revision_save(policy=policy, document=changed, author=user, expected=number)
    return policy.name
