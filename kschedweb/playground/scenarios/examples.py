"""The ready scenario and the policy that the examples of a new site share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.playground.scenarios.ready import all_ready
from kschedweb.playground.scenarios.selectors import newest_revisions
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.selectors import DEFAULT_POLICY
from kschedweb.policies.services import policy_create
from kschedweb.web.errors import NotFound

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.playground.scenarios.models import ScenarioRevision

# The key of the ready scenario; it is played in a fraction of a second.
SCENARIO = "demo-cluster"
POLICY = "example-fill-nodes"
DESCRIPTION = "Example: prefers the fullest node that still fits."
DOCUMENT = """\
# kube-scheduler's defaults, but full nodes come first.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    plugins:
      score:
        disabled:
          - name: NodeResourcesFit
        enabled:
          - name: NodeResourcesFit
            weight: 10
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: MostAllocated
"""


def revision_newest() -> ScenarioRevision:
    """Return the newest revision of the scenario that examples are played on."""
    revision = newest_revisions().filter(scenario=_ready_id()).first()
    if revision is None:
        raise NotFound("The ready scenario of the examples is not in place.")
    return revision


def policy_place() -> Revision:
    """Return the policy of the examples, which is made by the first that needs it."""
    policy = Policy.objects.filter(name=POLICY).first()
    if policy is None:
        policy = policy_create(
            name=POLICY, document=DOCUMENT, author=None, description=DESCRIPTION, comment=DESCRIPTION
        )
    return policy.revisions.latest("number")


def default_revision() -> Revision:
    """Return the newest revision of the default policy."""
    return Policy.objects.get(name=DEFAULT_POLICY).revisions.latest("number")


def _ready_id() -> UUID:
    return next(ready.id for ready in all_ready() if ready.key == SCENARIO)
