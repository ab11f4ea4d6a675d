"""Random scenarios over what the engine decides; the same seed makes the same scenarios."""

from __future__ import annotations

from random import Random
from typing import Any

ZONE, REGION, HOST = "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/hostname"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
APPS, TEAMS, NAMESPACES = ["web", "db", "cache"], ["red", "blue"], ["default", "prod", "dev"]
CPU = ["0", "50m", "0.1", "250m", "1", "1500m", "2", "1e0", "3", "100000u"]
MEMORY = ["0", "64Mi", "500M", "1Gi", "1.5Gi", "2e9", "3Gi", "1500000k", "128974848000m"]
EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
IMAGES = [f"registry.example/{name}" for name in ("web:v1", "db:v1", "cache", "side:v2")]
OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist"]


class Maker:
    """Makes one scenario after the other from ``random``."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def pick(self, values: list) -> Any:
        return self.random.choice(values)

    def some(self, values: list, most: int = 3) -> list:
        return self.random.sample(values, self.random.randint(0, min(most, len(values))))

    def scenario(self, name: str, *, nodes: int | None = None) -> dict:
        count = nodes or self.random.randint(1, 9)
        objects = [self.namespace(name) for name in self.some(NAMESPACES)]
        objects += [self.node(number) for number in range(count)]
        objects += [self.service(number) for number in range(self.random.randint(0, 2))]
        objects += [self.budget(number) for number in range(self.random.choice([0, 0, 1, 2]))]
        objects += [self.controller(kind) for kind in self.some(["ReplicaSet", "StatefulSet", "ReplicationController"])]
        placed = self.random.randint(0, 3 * min(count, 40))
        objects += [self.pod(f"b{number}", on=f"n{self.random.randrange(count):04}") for number in range(placed)]
        pending = [self.pod(f"p{number}") for number in range(self.random.randint(1, 4))]
        return {
            "name": name,
            "config": self.config(),
            "objects": objects,
            "pending": pending,
            "mode": self.pick(["each", "sequence"]),
        }

    def namespace(self, name: str) -> dict:
        labels = {"env": self.pick(["prod", "dev"])} if self.maybe(0.7) else {}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}

    def node(self, number: int) -> dict:
        name = f"n{number:04}"
        labels = {HOST: name} if self.maybe(0.95) else {}
        if self.maybe(0.8):
            labels[self.pick([ZONE, ZONE, ZONE, BETA_ZONE])] = self.pick(["a", "b", "c"])
        if self.maybe(0.3):
            labels[REGION] = self.pick(["r1", "r2"])
        if self.maybe(0.5):
            labels["disk"] = self.pick(["ssd", "hdd"])
        if self.maybe(0.4):
            labels["gen"] = self.pick(["1", "5", "9", "x", "-3"])
        allocatable = {"cpu": self.pick(["1", "2", "4", "7500m", "0"]), "memory": self.pick(["2Gi", "8Gi", "15500Mi"])}
        if self.maybe(0.95):
            allocatable["pods"] = self.pick(["110", "110", "3", "0"])
        if self.maybe(0.4):
            allocatable["example.com/gpu"] = self.pick(["0", "1", "4"])
        if self.maybe(0.3):
            allocatable["ephemeral-storage"] = self.pick(["1Gi", "10Gi"])
        taints = [self.taint() for _ in range(self.random.choice([0, 0, 0, 1, 2]))]
        images = [
            {
                "names": [image if ":" in image else f"{image}:latest"],
                "sizeBytes": self.pick([10**7, 3 * 10**8, 2 * 10**9]),
            }
            for image in self.some(IMAGES)
        ]
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints, **({"unschedulable": True} if self.maybe(0.08) else {})},
            "status": {"allocatable": allocatable, "images": images},
        }

    def taint(self) -> dict:
        return {"key": self.pick(["k", "m"]), "value": self.pick(["", "v", "w"]), "effect": self.pick(EFFECTS)}

    def toleration(self) -> dict:
        operator = self.pick(["", "Equal", "Exists"])
        found = {"operator": operator, "effect": self.pick(["", *EFFECTS])}
        if operator != "Exists" or self.maybe(0.8):
            found["key"] = self.pick(["k", "m"])
        if operator != "Exists":
            found["value"] = self.pick(["", "v", "w"])
        return found

    def selector(self) -> dict | None:
        if self.maybe(0.08):
            return self.pick([None, {}])
        found: dict[str, Any] = {}
        if self.maybe(0.8):
            found["matchLabels"] = {"app": self.pick(APPS)}
        if self.maybe(0.3):
            found["matchExpressions"] = [self.expression("team", TEAMS)]
        return found

    def expression(self, key: str, values: list[str]) -> dict:
        operator = self.pick(OPERATORS)
        found: dict[str, Any] = {"key": key, "operator": operator}
        if operator in ("In", "NotIn"):
            found["values"] = self.random.sample(values, self.random.randint(1, len(values)))
        return found

    def node_term(self) -> dict:
        found: dict[str, Any] = {}
        if self.maybe(0.85):
            found["matchExpressions"] = [self.node_expression() for _ in range(self.random.randint(1, 2))]
        if self.maybe(0.15):
            name = f"n{self.random.randrange(6):04}"
            found["matchFields"] = [
                {"key": "metadata.name", "operator": self.pick(["In", "In", "NotIn"]), "values": [name]}
            ]
        return found

    def node_expression(self) -> dict:
        if self.maybe(0.25):
            value = self.pick(["2", "6", "-1", "x"])
            return {"key": "gen", "operator": self.pick(["Gt", "Lt"]), "values": [value]}
        key, values = self.pick([("disk", ["ssd", "hdd"]), (ZONE, ["a", "b", "c"]), ("none", ["x"])])
        return self.expression(key, values)

    def pod_term(self) -> dict:
        found: dict[str, Any] = {"topologyKey": self.pick([HOST, ZONE, ZONE, "disk"]), "labelSelector": self.selector()}
        if self.maybe(0.25):
            found["namespaces"] = self.random.sample(NAMESPACES, self.random.randint(1, 2))
        if self.maybe(0.25):
            found["namespaceSelector"] = self.pick(
                [{}, {"matchLabels": {"env": "prod"}}, {"matchExpressions": [self.expression("env", ["prod", "dev"])]}]
            )
        return found

    def pod_affinity(self) -> dict:
        found: dict[str, Any] = {}
        if self.maybe(0.4):
            found["requiredDuringSchedulingIgnoredDuringExecution"] = [
                self.pod_term() for _ in range(self.pick([1, 1, 2]))
            ]
        if self.maybe(0.5):
            found["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": self.random.randint(1, 100), "podAffinityTerm": self.pod_term()}
                for _ in range(self.pick([1, 2]))
            ]
        return found

    def node_affinity(self) -> dict:
        found: dict[str, Any] = {}
        if self.maybe(0.5):
            found["requiredDuringSchedulingIgnoredDuringExecution"] = {
                "nodeSelectorTerms": [self.node_term() for _ in range(self.pick([1, 1, 2, 3]))]
            }
        if self.maybe(0.6):
            found["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {
                    "weight": self.random.randint(1, 100),
                    "preference": {"matchExpressions": [self.expression("disk", ["ssd"])]},
                }
                for _ in range(self.pick([1, 2]))
            ]
        return found

    def spread(self) -> dict:
        found: dict[str, Any] = {
            "maxSkew": self.pick([1, 1, 2, 5]),
            "topologyKey": self.pick([ZONE, ZONE, HOST, "disk"]),
            "whenUnsatisfiable": self.pick(["DoNotSchedule", "ScheduleAnyway"]),
            "labelSelector": self.selector(),
        }
        if found["whenUnsatisfiable"] == "DoNotSchedule" and self.maybe(0.3):
            found["minDomains"] = self.random.randint(1, 4)
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if self.maybe(0.3):
                found[policy] = self.pick(["Honor", "Ignore"])
        if self.maybe(0.2):
            found["matchLabelKeys"] = self.some(["app", "team", "none"], 2)
        return found

    def container(self, number: int) -> dict:
        requests = {}
        if self.maybe(0.75):
            requests["cpu"] = self.pick(CPU)
        if self.maybe(0.7):
            requests["memory"] = self.pick(MEMORY)
        if self.maybe(0.12):
            requests["example.com/gpu"] = self.pick(["0", "1", "2"])
        if self.maybe(0.1):
            requests["ephemeral-storage"] = self.pick(["500Mi", "2Gi"])
        resources: dict[str, Any] = {"requests": requests}
        if self.maybe(0.15):
            resources = {"limits": {"cpu": self.pick(CPU[3:])}}
        found: dict[str, Any] = {"name": f"c{number}", "image": self.pick(IMAGES), "resources": resources}
        if self.maybe(0.12):
            port: dict[str, Any] = {"containerPort": 80, "hostPort": self.pick([80, 443])}
            if self.maybe(0.4):
                port["hostIP"] = self.pick(["10.0.0.1", "0.0.0.0", "10.0.0.2"])
            if self.maybe(0.3):
                port["protocol"] = "UDP"
            found["ports"] = [port]
        return found

    def pod(self, name: str, on: str = "") -> dict:
        labels = {"app": self.pick(APPS), "team": self.pick(TEAMS)} if self.maybe(0.9) else {}
        metadata: dict[str, Any] = {
            "name": name,
            "namespace": self.pick(NAMESPACES),
            "labels": labels,
            "uid": f"uid-{name}",
        }
        spec: dict[str, Any] = {"containers": [self.container(number) for number in range(self.pick([1, 1, 2]))]}
        status: dict[str, Any] = {}
        if self.maybe(0.7):
            spec["priority"] = self.pick([0, 5, 10, 100] if on else [0, 10, 100, 1000])
        if on:
            spec["nodeName"] = on
            if self.maybe(0.9):
                status["startTime"] = f"2026-01-01T0{self.random.randint(0, 4)}:00:00Z"
            if self.maybe(0.08):
                metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        self.fill_spec(spec)
        affinity = {
            key: make()
            for key, make, chance in (
                ("nodeAffinity", self.node_affinity, 0.25),
                ("podAffinity", self.pod_affinity, 0.2),
                ("podAntiAffinity", self.pod_affinity, 0.2),
            )
            if self.maybe(chance)
        }
        if affinity:
            spec["affinity"] = affinity
        if self.maybe(0.25):
            kind = self.pick(["ReplicaSet", "StatefulSet", "ReplicationController", "Job"])
            version = {"ReplicationController": "v1", "Job": "batch/v1"}.get(kind, "apps/v1")
            metadata["ownerReferences"] = [
                {"apiVersion": version, "kind": kind, "name": "owner", "uid": "u", "controller": True}
            ]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}

    def fill_spec(self, spec: dict[str, Any]) -> None:
        if self.maybe(0.2):
            spec["initContainers"] = [self.container(9)]
            if self.maybe(0.4):
                spec["initContainers"][0]["restartPolicy"] = "Always"
        if self.maybe(0.3):
            spec["tolerations"] = [self.toleration() for _ in range(self.pick([1, 2]))]
        if self.maybe(0.12):
            spec["nodeSelector"] = self.pick([{}, {"disk": "ssd"}, {ZONE: "a"}])
        if self.maybe(0.3):
            spec["topologySpreadConstraints"] = self._distinct([self.spread() for _ in range(self.pick([1, 1, 2, 3]))])
        if self.maybe(0.05):
            spec["preemptionPolicy"] = "Never"
        if self.maybe(0.08):
            spec["overhead"] = {"cpu": "250m", "memory": "120Mi"}
        if self.maybe(0.06):
            spec["resources"] = {"requests": {"cpu": self.pick(CPU), "memory": self.pick(MEMORY)}}

    @staticmethod
    def _distinct(constraints: list[dict]) -> list[dict]:
        """The API server refuses two constraints with the same key and action."""
        return list({(item["topologyKey"], item["whenUnsatisfiable"]): item for item in constraints}.values())

    def service(self, number: int) -> dict:
        spec = {"selector": self.pick([{"app": self.pick(APPS)}, {"app": self.pick(APPS), "team": "red"}, {}])}
        if self.maybe(0.1):
            spec = {}
        metadata = {"name": f"s{number}", "namespace": self.pick(NAMESPACES)}
        return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}

    def budget(self, number: int) -> dict:
        status: dict[str, Any] = {"disruptionsAllowed": self.random.randint(0, 2)}
        if self.maybe(0.2):
            status["disruptedPods"] = {"b1": "2026-01-01T00:00:00Z"}
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"d{number}", "namespace": self.pick(NAMESPACES)},
            "spec": {"selector": self.selector()},
            "status": status,
        }

    def controller(self, kind: str) -> dict:
        selector: Any = {"app": self.pick(APPS)}
        if kind != "ReplicationController":
            selector = self.selector() or {"matchLabels": selector}
        return {
            "apiVersion": "v1" if kind == "ReplicationController" else "apps/v1",
            "kind": kind,
            "metadata": {"name": "owner", "namespace": self.pick(NAMESPACES)},
            "spec": {"selector": selector},
        }

    def config(self) -> dict:
        arguments = []
        if self.maybe(0.5):
            arguments.append({"name": "NodeResourcesFit", "args": self.fit()})
        if self.maybe(0.25):
            args: dict[str, Any] = {"hardPodAffinityWeight": self.pick([0, 1, 50, 100])}
            if self.maybe(0.3):
                args["ignorePreferredTermsOfExistingPods"] = True
            arguments.append({"name": "InterPodAffinity", "args": args})
        if self.maybe(0.25):
            arguments.append({"name": "PodTopologySpread", "args": self.spread_defaults()})
        if self.maybe(0.15):
            terms = [{"matchExpressions": [self.expression("disk", ["ssd", "hdd"])]}]
            added = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            arguments.append({"name": "NodeAffinity", "args": {"addedAffinity": added}})
        if self.maybe(0.2):
            resources = [
                {"name": name, "weight": 1} for name in self.random.sample(["cpu", "memory", "example.com/gpu"], 2)
            ]
            arguments.append({"name": "NodeResourcesBalancedAllocation", "args": {"resources": resources}})
        profile: dict[str, Any] = {"schedulerName": "default-scheduler", "pluginConfig": arguments}
        if self.maybe(0.3):
            profile["plugins"] = self.plugins()
        return {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "parallelism": 1,  # so that ties and the nodes sampled can be repeated
            "profiles": [profile],
        }

    def fit(self) -> dict:
        names = self.random.sample(["cpu", "memory", "ephemeral-storage", "example.com/gpu"], self.random.randint(1, 3))
        strategy: dict[str, Any] = {
            "type": self.pick(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]),
            "resources": [{"name": name, "weight": self.random.randint(1, 100)} for name in names],
        }
        if strategy["type"] == "RequestedToCapacityRatio":
            at = sorted(self.random.sample(range(101), self.random.randint(1, 5)))
            shape = [{"utilization": utilization, "score": self.random.randint(0, 10)} for utilization in at]
            strategy["requestedToCapacityRatio"] = {"shape": shape}
        found: dict[str, Any] = {"scoringStrategy": strategy}
        if self.maybe(0.15):
            found["ignoredResources"] = ["example.com/gpu"]
        return found

    def spread_defaults(self) -> dict:
        constraints = self._distinct(
            [
                {
                    "maxSkew": self.random.randint(1, 3),
                    "topologyKey": self.pick([ZONE, HOST]),
                    "whenUnsatisfiable": self.pick(["DoNotSchedule", "ScheduleAnyway"]),
                }
                for _ in range(self.random.randint(0, 3))
            ]
        )
        return {"defaultingType": "List", "defaultConstraints": constraints}

    def plugins(self) -> dict:
        scoring = ["ImageLocality", "NodeAffinity", "TaintToleration", "InterPodAffinity", "NodeResourcesFit"]
        chosen = self.random.sample(scoring, 2)
        found = {"score": {"enabled": [{"name": chosen[0], "weight": self.random.randint(1, 50)}]}}
        if self.maybe(0.5):
            found["score"]["disabled"] = [{"name": chosen[1]}]
        if self.maybe(0.3):
            off = self.pick(["NodeName", "TaintToleration", "NodeUnschedulable", "NodeAffinity"])
            found["filter"] = {"disabled": [{"name": off}]}
        return found
