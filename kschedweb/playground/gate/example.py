"""The verdict that a new site begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.engine.studies.gate.gate import GatePolicy
from kschedweb.engine.studies.gate.thresholds import read_thresholds
from kschedweb.playground.gate.invocation import about_scenario
from kschedweb.playground.gate.services import GateRequest, gate_queue
from kschedweb.playground.scenarios.examples import default_revision, policy_place, revision_newest
from kschedweb.playground.scenarios.selectors import cluster_version
from kschedweb.policies.selectors import process_of_run
from kschedweb.policies.validation import requested_release

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.playground.gate.models import Gate
    from kschedweb.policies.models import Revision

THRESHOLDS = {"maxNewlyUnschedulable": 0, "maxSkewIncrease": 10}


def gate_example(id: UUID) -> Gate:
    """Start to judge a policy that fills nodes against the default one."""
    revision = revision_newest()
    version = cluster_version(revision)
    question = GateRequest(
        policy=_gate_policy(policy_place(), version),
        baseline=_gate_policy(default_revision(), version),
        thresholds=read_thresholds(THRESHOLDS),
        subject=about_scenario(revision),
        revision=revision,
    )
    return gate_queue(user=None, question=question, id=id)


def _gate_policy(policy: Revision, version: str) -> GatePolicy:
    """Return a saved policy, run by its own release or that of the cluster's ``version``."""
    release = requested_release(process_of_run(policy, version), "")
    return GatePolicy(f"{policy.policy.name}@{policy.number}", policy.document, release)
