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
    """The predicates in order, the priorities by name (each is a plugin), and the ``weights`` of the priorities.

    It is what a classic kube-scheduler is configured with: ``document`` is the Policy, and the one profile names what
    runs. ``never_asked`` has the predicates of the policy that are missing in the fixed order.
    """

    predicates: list[FilterPlugin]
    priorities: list[ScorePlugin]
    weights: dict[str, int]
    always_check_all: bool
    edition: Edition
    never_asked: tuple[str, ...] = ()

    def weight_path(self, profile: int, plugin: str) -> str:
        return f"priorities[{plugin}].weight"

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """The predicates, then the priorities."""
        return *self.predicates, *self.priorities
