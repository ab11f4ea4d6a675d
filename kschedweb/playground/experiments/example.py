"""The experiment that a new site begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.playground.experiments.services import experiment_start

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.playground.experiments.models import Experiment

# A day on so few nodes is played in half a second for each policy.
POLICIES, NODES = ("default", "water-level", "target-load-packing"), 6


def experiment_example(id: UUID) -> Experiment:
    """Start to replay the made-up day under the default policy and two that weigh use."""
    return experiment_start(user=None, recording=None, policies=POLICIES, seeds=[1], setup={"nodes": NODES}, id=id)
