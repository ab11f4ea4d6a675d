"""Random Policies, good and bad ones; the same random numbers make the same Policies."""

from __future__ import annotations

from random import Random
from typing import Any

from kschedweb.engine.releases.classic.catalogue import CINDER, NO_EXECUTE, ORDER

POLICY = {"kind": "Policy", "apiVersion": "v1"}
SWITCHED = {CINDER, "CheckNodeUnschedulable"}
ARGUED = {"CheckNodeLabelPresence", "CheckServiceAffinity"}
EARLIER = ["CheckNodeCondition", "CheckNodeMemoryPressure", "CheckNodePIDPressure", "CheckNodeDiskPressure", NO_EXECUTE]
# Those that 1.13 knows without a switch, and 1.22 too.
PREDICATES = [name for name in ORDER if name not in {*ARGUED, *EARLIER, *SWITCHED}] + ["PodFitsPorts"]
PRIORITIES = [
    *("SelectorSpreadPriority", "InterPodAffinityPriority", "LeastRequestedPriority", "BalancedResourceAllocation"),
    *("NodePreferAvoidPodsPriority", "NodeAffinityPriority", "TaintTolerationPriority", "ImageLocalityPriority"),
    *("ServiceSpreadingPriority", "EqualPriority", "MostRequestedPriority", "RequestedToCapacityRatioPriority"),
]
# What 1.22 knew, or no longer knew, unlike 1.13.
LATER = ["EvenPodsSpread", *sorted(SWITCHED), "CheckNodeLabelPresence", "CheckServiceAffinity"]
LATER_PRIORITIES = ["EvenPodsSpreadPriority", "RequestedToCapacityRatio"]
LABELS = ["zone", "example.com/rack", "disk", "pool"]
WEIGHTS = [1, 1, 2, 3, 10, 100, 10000]
ODD_WEIGHTS = [2**31 - 1, 2**31, 2**32, 2**32 + 5, 2**33 - 1]
RESOURCES = ["example.com/gpu", "example.com/fpga", "vendor.io/nic"]


class PolicyMaker:
    """``odd`` is how often something comes in that 1.22 did not take, or took otherwise than it looks."""

    def __init__(self, random: Random, odd: float = 0.0) -> None:
        self.random, self.odd = random, odd
        self.made = 0

    def policy(self) -> dict[str, Any]:
        policy: dict[str, Any] = dict(POLICY)
        if self.maybe(0.8):
            policy["predicates"] = [self.predicate() for _ in range(self.random.randint(0, 6))]
        if self.maybe(0.8):
            policy["priorities"] = [self.priority() for _ in range(self.random.randint(0, 6))]
        if self.maybe(0.3):
            policy["extenders"] = self.extenders()
        if self.maybe(0.3):
            policy["hardPodAffinitySymmetricWeight"] = self.random.randint(1, 100)
        if self.maybe(0.3):
            policy["alwaysCheckAllPredicates"] = self.maybe(0.5)
        return policy

    def maybe(self, share: float) -> bool:
        return self.random.random() < share

    def predicate(self) -> dict[str, Any]:
        if self.maybe(0.75):
            return {"name": self.random.choice(self.usual_or_odd(PREDICATES, [*LATER, *EARLIER, "Nope"]))}
        kind = self.random.choice(["serviceAffinity", "labelsPresence"])
        content: dict[str, Any] = {"labels": [self.label() for _ in range(self.random.randint(0, 3))]}
        if kind == "labelsPresence":
            content["presence"] = self.maybe(0.6)
        return {"name": self.name(PREDICATES + LATER), "argument": {kind: content}}

    def priority(self) -> dict[str, Any]:
        weight = self.random.choice(ODD_WEIGHTS if self.maybe(self.odd / 2) else WEIGHTS)
        if self.maybe(0.7):
            name = self.random.choice(self.usual_or_odd(PRIORITIES, [*LATER_PRIORITIES, "Nope"]))
            return {"name": name, "weight": weight}
        kind = self.random.choice(["serviceAntiAffinity", "labelPreference", "requestedToCapacityRatioArguments"])
        content: dict[str, Any] = {"label": self.label()}
        if kind == "labelPreference":
            content["presence"] = self.maybe(0.6)
        elif kind == "requestedToCapacityRatioArguments":
            at = sorted(self.random.sample(range(101), self.random.randint(1, 4)))
            content = {
                "shape": [{"utilization": utilization, "score": self.random.randint(0, 10)} for utilization in at]
            }
        return {"name": self.name(PRIORITIES), "weight": weight, "argument": {kind: content}}

    def usual_or_odd(self, usual: list[str], unusual: list[str]) -> list[str]:
        return unusual if self.maybe(self.odd) else usual

    def name(self, argumentless_names: list[str]) -> str:
        """A name of its own, or now and then one that has a meaning without an argument too."""
        self.made += 1
        return self.random.choice(argumentless_names) if self.maybe(self.odd) else f"Mine{self.made}"

    def label(self) -> str:
        return self.random.choice(LABELS)

    def extenders(self) -> list[dict[str, Any]]:
        managed = self.random.sample(RESOURCES, len(RESOURCES))
        return [self.extender(number, managed.pop()) for number in range(self.random.randint(0, 2))]

    def extender(self, number: int, resource: str) -> dict[str, Any]:
        extender: dict[str, Any] = {"urlPrefix": f"http://127.0.0.1:{8000 + number}/scheduler"}
        verbs = ("filterVerb", "preemptVerb", "prioritizeVerb", *(() if number else ("bindVerb",)))
        extender |= {verb: verb[:-4] for verb in verbs if self.maybe(0.5)}
        if "prioritizeVerb" in extender or self.maybe(0.2):
            extender["weight"] = self.random.choice(WEIGHTS)
        switches = ("enableHttps", "nodeCacheCapable", "ignorable")
        extender |= {switch: self.maybe(0.7) for switch in switches if self.maybe(0.3)}
        if self.maybe(0.4):
            extender["httpTimeout"] = self.random.choice([1, 250, 5000, 90_000]) * 10**6
        if self.maybe(0.3):
            extender["tlsConfig"] = {"serverName": "extender.example.com"}
        if self.maybe(0.4):
            extender["managedResources"] = [{"name": resource, "ignoredByScheduler": self.maybe(0.5)}]
        return extender
