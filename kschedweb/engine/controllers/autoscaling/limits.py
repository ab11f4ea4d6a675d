"""How far and how fast the number of pods may follow what is asked for: stabilisation, rates, least and most.

The source is horizontal.go of Kubernetes. Times are seconds.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import NamedTuple

from kschedweb.engine.controllers.autoscaling.spec import DISABLED, MIN, PODS, WINDOW, Autoscaler, Behavior, Rules
from kschedweb.engine.values import dataclass

FACTOR, AT_LEAST = 2, 4  # without a behavior, so many times the pods, or to so many
WITHIN = "DesiredWithinRange", "the desired count is within the acceptable range"
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

Said = tuple[str, str]  # reason and message of a condition


class Stamped(NamedTuple):
    """A number of pods recommended, or added or taken away, at a time."""

    pods: int
    time: float


class Normal(NamedTuple):
    """The number of pods, and what is said of stabilisation and of limits."""

    replicas: int
    able: Said
    limited: Said


@dataclass(slots=True)
class Memory:
    """What the controller remembers of an autoscaler; old entries are written over, as it does."""

    recommendations: list[Stamped] = field(default_factory=list)
    ups: list[Stamped] = field(default_factory=list)
    downs: list[Stamped] = field(default_factory=list)

    def begin(self, current: int, now: float) -> None:
        """The first recommendation is what there is."""
        if not self.recommendations:
            self.recommendations.append(Stamped(current, now))

    def normal(self, autoscaler: Autoscaler, current: int, asked: int, now: float) -> Normal:
        """How many pods are wanted where there are ``current`` and ``asked`` are asked for."""
        behavior = autoscaler.behavior
        if behavior is None:
            stable = self._stable(asked, now)
            replicas, limited = _bounded(current, stable, autoscaler)
            return Normal(replicas, READY if stable == asked else DOWN_STABLE, limited)
        stable = self._stable_between(behavior, current, asked, now)
        able = READY if stable == asked else UP_STABLE if asked >= current else DOWN_STABLE
        replicas, limited = self._limited(autoscaler, behavior, current, stable, now)
        return Normal(replicas, able, limited)

    def scaled(self, behavior: Behavior | None, before: int, after: int, now: float) -> None:
        """Remember that the number of pods changed."""
        if behavior is None:
            return
        listed, rules = (self.ups, behavior.up) if after > before else (self.downs, behavior.down)
        _put(listed, Stamped(abs(after - before), now), now - rules.longest)

    def _stable(self, asked: int, now: float) -> int:
        """The most that was recommended within the window."""
        cutoff = now - WINDOW
        most = max([asked, *(one.pods for one in self.recommendations if one.time >= cutoff)])
        _put(self.recommendations, Stamped(asked, now), cutoff)
        return most

    def _stable_between(self, behavior: Behavior, current: int, asked: int, now: float) -> int:
        """``current``, raised to the least of the window of scaling up and lowered to the most of that down."""
        up, down = (now - (WINDOW if rules.window is None else rules.window) for rules in (behavior.up, behavior.down))
        floor = min([asked, *(one.pods for one in self.recommendations if one.time > up)])
        ceiling = max([asked, *(one.pods for one in self.recommendations if one.time > down)])
        _put(self.recommendations, Stamped(asked, now), min(up, down))
        return min(max(current, floor), ceiling)

    def _limited(
        self, autoscaler: Autoscaler, behavior: Behavior, current: int, asked: int, now: float
    ) -> tuple[int, Said]:
        if asked > current:
            limit = max(self._furthest(behavior.up, current, now, 1), current)
            most, why = min((autoscaler.most, TOO_MANY), (limit, UP_LIMIT), key=lambda one: one[0])
            return (most, why) if asked > most else (asked, WITHIN)
        if asked < current:
            limit = min(self._furthest(behavior.down, current, now, -1), current)
            least, why = max((autoscaler.least, TOO_FEW), (limit, DOWN_LIMIT), key=lambda one: one[0])
            return (least, why) if asked < least else (asked, WITHIN)
        return asked, WITHIN

    def _furthest(self, rules: Rules, current: int, now: float, sign: int) -> int:
        """The number of pods that the policies let it come to; ``sign`` is 1 upwards and -1 downwards."""
        if rules.select == DISABLED:
            return current
        found = []
        for policy in rules.policies:
            added, taken = (
                sum(one.pods for one in listed if one.time > now - policy.period) for listed in (self.ups, self.downs)
            )
            start = current - added + taken
            if policy.kind == PODS:
                found.append(start + sign * policy.value)
            else:
                share = start * (1 + sign * policy.value / 100)
                found.append(math.ceil(share) if sign > 0 else int(share))
        narrow = rules.select == MIN
        return min(found) if narrow == (sign > 0) else max(found)


def _bounded(current: int, asked: int, autoscaler: Autoscaler) -> tuple[int, Said]:
    limit = max(FACTOR * current, AT_LEAST)
    most, why = (limit, UP_LIMIT) if autoscaler.most > limit else (autoscaler.most, TOO_MANY)
    if asked < autoscaler.least:
        return autoscaler.least, TOO_FEW
    return (most, why) if asked > most else (asked, WITHIN)


def _put(listed: list[Stamped], new: Stamped, cutoff: float) -> None:
    """Add ``new``, in the place of the last entry that is older than ``cutoff``."""
    old = [place for place, one in enumerate(listed) if one.time < cutoff]
    if old:
        listed[old[-1]] = new
    else:
        listed.append(new)
