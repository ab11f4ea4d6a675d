"""The predicates and priorities that a policy runs, in their order."""

from __future__ import annotations

from kschedweb.engine.config import Configuration
from kschedweb.engine.framework.interface import FilterPlugin, Plugin, ScorePlugin
from kschedweb.engine.releases.classic.catalogue import Edition
from kschedweb.engine.validation.fields import Problem
from kschedweb.engine.values import dataclass


class PolicyError(ValueError):
    """A policy that cannot run; ``problems`` says where and why."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(
            "; ".join(f"{problem.path}: {problem.text}" if problem.path else problem.text for problem in problems)
        )
        self.problems = tuple(problems)


@dataclass(frozen=True, kw_only=True)
class Algorithm(Configuration):
    """The configuration of a classic kube-scheduler.

    Its ``document`` is the Policy, and its single profile names the plugins that run. Each predicate and each priority
    is a plugin.
    """

    # In calling order.
    predicates: list[FilterPlugin]
    # By name.
    priorities: list[ScorePlugin]
    # Weights of the priorities.
    weights: dict[str, int]
    # All predicates run on a node, even after one rejects it.
    always_check_all: bool
    edition: Edition
    # Predicates of the policy that are missing in the fixed order, so that they never run.
    never_asked: tuple[str, ...] = ()

    def weight_path(self, profile: int, plugin: str) -> str:
        return f"priorities[{plugin}].weight"

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """The predicates, then the priorities."""
        return *self.predicates, *self.priorities
