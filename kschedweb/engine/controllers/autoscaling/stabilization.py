"""Limit how far and how fast the number of pods follows the metrics: stabilization, rates, least and most.

The source is horizontal.go of Kubernetes. Times are seconds.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import NamedTuple

from kschedweb.engine.controllers.autoscaling.spec import (
    DISABLED,
    MIN,
    PODS,
    WINDOW,
    Autoscaler,
    Behavior,
    ScalingRules,
)
from kschedweb.engine.values import dataclass

# Without a behavior one step leads to so many times the pods, or to so many, as `calculateScaleUpLimit` has it.
FACTOR, AT_LEAST = 2, 4
DESIRED_WITHIN_RANGE = "DesiredWithinRange", "the desired count is within the acceptable range"
READY = "ReadyForNewScale", "recommended size matches current size"
UP_STABLE = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)
DOWN_STABLE = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)
TOO_FEW = "TooFewReplicas", "the desired replica count is less than the minimum replica count"
TOO_MANY = "TooManyReplicas", "the desired replica count is more than the maximum replica count"
UP_LIMIT = "ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"
DOWN_LIMIT = "ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate"

# Reason and message of a condition.
ReasonAndMessage = tuple[str, str]


class TimestampedCount(NamedTuple):
    """A number of pods that was recommended, added or removed at a time."""

    pods: int
    time: float


class NormalizedReplicas(NamedTuple):
    """The number of pods after all limits."""

    replicas: int
    # Of the condition AbleToScale, which tells of stabilization.
    able: ReasonAndMessage
    # Of the condition ScalingLimited.
    limited: ReasonAndMessage


@dataclass(slots=True)
class ScalingMemory:
    """The controller's memory of an autoscaler; old entries are overwritten, as the original does."""

    # Recommended numbers.
    recommendations: list[TimestampedCount] = field(default_factory=list)
    # Numbers of pods that were added and removed.
    ups: list[TimestampedCount] = field(default_factory=list)
    downs: list[TimestampedCount] = field(default_factory=list)

    def record_initial_recommendation(self, current: int, now: float) -> None:
        """Take the present number as the first recommendation."""
        # So that a restarted controller does not scale down at once.
        if not self.recommendations:
            self.recommendations.append(TimestampedCount(current, now))

    def normalize_desired_replicas(
        self, autoscaler: Autoscaler, current: int, desired: int, now: float
    ) -> NormalizedReplicas:
        """Return how many pods there shall be if there are ``current`` and the metrics ask for ``desired``."""
        behavior = autoscaler.behavior
        if behavior is None:
            stable = self._stabilize_recommendation(desired, now)
            replicas, limited = _limit_with_rules(current, stable, autoscaler)
            return NormalizedReplicas(replicas, READY if stable == desired else DOWN_STABLE, limited)
        stable = self._stabilize_with_behaviors(behavior, current, desired, now)
        able = READY if stable == desired else UP_STABLE if desired >= current else DOWN_STABLE
        replicas, limited = self._limit_with_behavior_rate(autoscaler, behavior, current, stable, now)
        return NormalizedReplicas(replicas, able, limited)

    def store_scale_event(self, behavior: Behavior | None, before: int, after: int, now: float) -> None:
        """Remember a change of the number of pods."""
        if behavior is None:
            return
        listed, rules = (self.ups, behavior.up) if after > before else (self.downs, behavior.down)
        _add_stamped(listed, TimestampedCount(abs(after - before), now), now - rules.longest_period)

    def _stabilize_recommendation(self, desired: int, now: float) -> int:
        """Return the highest recommendation within the window."""
        cutoff = now - WINDOW
        highest = max(
            [
                desired,
                *(recommendation.pods for recommendation in self.recommendations if recommendation.time >= cutoff),
            ]
        )
        _add_stamped(self.recommendations, TimestampedCount(desired, now), cutoff)
        return highest

    def _stabilize_with_behaviors(self, behavior: Behavior, current: int, desired: int, now: float) -> int:
        """Return ``current``, moved between the lowest and the highest recent recommendation.

        It is raised to the lowest of the window of scaling up, and lowered to the highest of the window of scaling
        down.
        """
        up, down = (now - (WINDOW if rules.window is None else rules.window) for rules in (behavior.up, behavior.down))
        floor = min(
            [desired, *(recommendation.pods for recommendation in self.recommendations if recommendation.time > up)]
        )
        ceiling = max(
            [desired, *(recommendation.pods for recommendation in self.recommendations if recommendation.time > down)]
        )
        _add_stamped(self.recommendations, TimestampedCount(desired, now), min(up, down))
        return min(max(current, floor), ceiling)

    def _limit_with_behavior_rate(
        self, autoscaler: Autoscaler, behavior: Behavior, current: int, desired: int, now: float
    ) -> tuple[int, ReasonAndMessage]:
        if desired > current:
            limit = max(self._calculate_scale_limit(behavior.up, current, now, 1), current)
            maximum, why = min((autoscaler.max_replicas, TOO_MANY), (limit, UP_LIMIT), key=lambda pair: pair[0])
            return (maximum, why) if desired > maximum else (desired, DESIRED_WITHIN_RANGE)
        if desired < current:
            limit = min(self._calculate_scale_limit(behavior.down, current, now, -1), current)
            minimum, why = max((autoscaler.min_replicas, TOO_FEW), (limit, DOWN_LIMIT), key=lambda pair: pair[0])
            return (minimum, why) if desired < minimum else (desired, DESIRED_WITHIN_RANGE)
        return desired, DESIRED_WITHIN_RANGE

    def _calculate_scale_limit(self, rules: ScalingRules, current: int, now: float, sign: int) -> int:
        """Return the number of pods that the policies allow; ``sign`` is 1 upwards and -1 downwards."""
        if rules.select == DISABLED:
            return current
        proposals = []
        for policy in rules.policies:
            added, removed = (
                sum(event.pods for event in listed if event.time > now - policy.period)
                for listed in (self.ups, self.downs)
            )
            # The number of pods at the beginning of the period.
            start = current - added + removed
            if policy.kind == PODS:
                proposals.append(start + sign * policy.value)
            else:
                share = start * (1 + sign * policy.value / 100)
                # Rounded up upwards, since a small workload would never grow otherwise.
                proposals.append(math.ceil(share) if sign > 0 else int(share))
        narrow = rules.select == MIN
        return min(proposals) if narrow == (sign > 0) else max(proposals)


def _limit_with_rules(current: int, desired: int, autoscaler: Autoscaler) -> tuple[int, ReasonAndMessage]:
    limit = max(FACTOR * current, AT_LEAST)
    maximum, why = (limit, UP_LIMIT) if autoscaler.max_replicas > limit else (autoscaler.max_replicas, TOO_MANY)
    if desired < autoscaler.min_replicas:
        return autoscaler.min_replicas, TOO_FEW
    return (maximum, why) if desired > maximum else (desired, DESIRED_WITHIN_RANGE)


def _add_stamped(listed: list[TimestampedCount], new: TimestampedCount, cutoff: float) -> None:
    """Add ``new``, in the place of the last entry that is older than ``cutoff``."""
    old = [place for place, stamped in enumerate(listed) if stamped.time < cutoff]
    if old:
        listed[old[-1]] = new
    else:
        listed.append(new)
