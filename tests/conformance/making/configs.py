"""Random configurations that kube-scheduler accepts: profiles, plugins at single points, every argument."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.conformance.making.chance import Chance

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
RESOURCES = ["cpu", "memory", "ephemeral-storage", "example.com/gpu", "example.com/fpga", "hugepages-2Mi"]
SCORING = [
    "TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity",
    "NodeResourcesBalancedAllocation", "ImageLocality",
]  # fmt: skip
STATELESS = ["NodeName", "TaintToleration", "NodeUnschedulable", "NodeAffinity", "VolumeZone"]
FILTERING = [*STATELESS, "NodePorts", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity"]
# Off at PostFilter alone it is still asked by the oracle, which takes the plugin from where it is on.
PREEMPTION = "DefaultPreemption"
DEFAULT, OTHER = "default-scheduler", "second-scheduler"


class Configs(Chance):
    """Makes configurations; ties and the nodes sampled can be repeated, since ``parallelism`` is 1."""

    def config(self, schedulers: Sequence[str] = (DEFAULT,)) -> dict:
        config: dict[str, Any] = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "parallelism": 1,
            "profiles": [self.profile(name) for name in schedulers],
        }
        if self.maybe(0.25):
            config["percentageOfNodesToScore"] = self.percentage()
        return config

    def percentage(self) -> int:
        return self.pick([0, 0, 1, 5, 10, 30, 50, 99, 100])

    def profile(self, name: str) -> dict:
        makers = (
            ("NodeResourcesFit", self.fit, 0.5),
            ("InterPodAffinity", self.interpod, 0.3),
            ("PodTopologySpread", self.spread_args, 0.3),
            ("NodeAffinity", self.added_affinity, 0.2),
            ("NodeResourcesBalancedAllocation", self.balance, 0.25),
            ("DefaultPreemption", self.candidates, 0.15),
        )
        arguments = [{"name": plugin, "args": make()} for plugin, make, chance in makers if self.maybe(chance)]
        profile: dict[str, Any] = {"schedulerName": name, "pluginConfig": arguments}
        if self.maybe(0.35):
            profile["plugins"] = self.plugins()
        if self.maybe(0.15):
            profile["percentageOfNodesToScore"] = self.percentage()
        return profile

    def resources(self, maximum: int) -> list[dict]:
        return [{"name": name, "weight": self.weight()} for name in self.some(RESOURCES, maximum, 1)]

    def weight(self) -> int:
        return self.pick([1, 1, 2, 3, self.random.randint(1, 100), 100])

    def fit(self) -> dict:
        strategy: dict[str, Any] = {
            "type": self.pick(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]),
            "resources": self.resources(4),
        }
        if strategy["type"] == "RequestedToCapacityRatio":
            strategy["requestedToCapacityRatio"] = {"shape": self.shape()}
        args: dict[str, Any] = {"scoringStrategy": strategy}
        if self.maybe(0.15):
            args["ignoredResources"] = self.some(["example.com/gpu", "example.com/fpga"], 2, 1)
        if self.maybe(0.1):
            args["ignoredResourceGroups"] = ["example.com"]
        return args

    def shape(self) -> list[dict]:
        """Rising, falling, flat, with one point or with a jump between neighbours."""
        at = sorted(self.random.sample(range(101), self.random.randint(1, 6)))
        if self.maybe(0.3):
            first = self.random.randint(0, 99)
            at = [first, first + 1]
        return [{"utilization": utilization, "score": self.random.randint(0, 10)} for utilization in at]

    def interpod(self) -> dict:
        args: dict[str, Any] = {"hardPodAffinityWeight": self.pick([0, 1, 50, 100])}
        if self.maybe(0.3):
            args["ignorePreferredTermsOfExistingPods"] = self.maybe(0.7)
        return args

    def balance(self) -> dict:
        return {"resources": [{"name": item["name"], "weight": 1} for item in self.resources(4)]}

    def candidates(self) -> dict:
        """With fewer candidates than nodes the original goes through the nodes in no fixed order."""
        return {"minCandidateNodesPercentage": 100, "minCandidateNodesAbsolute": self.pick([1, 100])}

    def added_affinity(self) -> dict:
        added: dict[str, Any] = {}
        if self.maybe(0.6):
            conditions = [
                {"key": "disk", "operator": self.pick(["In", "NotIn"]), "values": [self.pick(["ssd", "hdd"])]}
            ]
            terms = [{"matchExpressions": conditions}]
            if self.maybe(0.3):
                terms.append({"matchExpressions": [{"key": ZONE, "operator": "Exists"}]})
            added["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
        if not added or self.maybe(0.4):
            conditions = [{"key": "gen", "operator": self.pick(["Gt", "Lt"]), "values": ["4"]}]
            added["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": self.random.randint(1, 100), "preference": {"matchExpressions": conditions}}
            ]
        return {"addedAffinity": added}

    def spread_args(self) -> dict:
        if self.maybe(0.2):
            return {"defaultingType": "System"}
        constraints = [
            {
                "maxSkew": self.random.randint(1, 3),
                "topologyKey": self.pick([ZONE, HOST, "disk"]),
                "whenUnsatisfiable": self.pick(["DoNotSchedule", "ScheduleAnyway"]),
            }
            for _ in range(self.random.randint(0, 3))
        ]
        return {"defaultingType": "List", "defaultConstraints": self.distinct(constraints)}

    @staticmethod
    def distinct(constraints: list[dict]) -> list[dict]:
        """The API server refuses two constraints with the same key and action."""
        return list({(item["topologyKey"], item["whenUnsatisfiable"]): item for item in constraints}.values())

    def plugins(self) -> dict:
        """Plugins off or on at single points or at all, in another order, with other weights."""
        plugin_sets: dict[str, Any] = {}
        if self.maybe(0.6):
            plugin_sets["score"] = {"enabled": [self.weighted(name) for name in self.some(SCORING, 3)]}
            plugin_sets["score"]["disabled"] = self.off(self.some(SCORING, 3))
        if self.maybe(0.1):
            plugin_sets["score"] = {
                "disabled": [{"name": "*"}],
                "enabled": [self.weighted(n) for n in self.some(SCORING, 3)],
            }
        if self.maybe(0.3):
            plugin_sets["filter"] = {"disabled": self.off(self.some(FILTERING, 3))}
        if self.maybe(0.2):
            plugin_sets["preScore"] = {"disabled": self.off(self.some(["TaintToleration", "NodeAffinity"], 2))}
        if self.maybe(0.15):
            plugin_sets["preFilter"] = {"disabled": self.off(self.some(["NodeAffinity", "VolumeZone"], 2))}
        if self.maybe(0.2):
            plugin_sets["multiPoint"] = {"disabled": self.off(self.some([*FILTERING, *SCORING, PREEMPTION], 3))}
            if self.maybe(0.6):
                plugin_sets["multiPoint"]["enabled"] = [self.weighted(name) for name in self.some(SCORING, 3)]
        return plugin_sets

    def weighted(self, name: str) -> dict:
        return {"name": name} | ({"weight": self.random.randint(1, 50)} if self.maybe(0.8) else {})

    @staticmethod
    def off(names: list[str]) -> list[dict]:
        return [{"name": name} for name in dict.fromkeys(names)]
