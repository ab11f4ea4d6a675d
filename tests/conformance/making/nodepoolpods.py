"""Pods of scenarios for Karpenter, with wishes of every kind."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random

from kschedweb.engine.json_types import Json

ZONE, HOST, CAPACITY = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "karpenter.sh/capacity-type"
ZONES = ("zone-a", "zone-b", "zone-c")
APPS = ("web", "api", "db")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
TOLERATIONS = (
    {"operator": "Exists"},
    {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "dedicated", "operator": "Equal", "value": "a"},
    {"key": "karpenter.sh/disrupted", "operator": "Exists"},
)


class Pods:
    """Makes pods, and changes them."""

    def __init__(self, random: Random) -> None:
        self.random, self.number = random, 0

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pod(self, bound: str | None) -> Json:
        random = self.random
        self.number += 1
        app = random.choice(APPS)
        requests = {
            "cpu": random.choice(["50m", "0.25", "500m", "1500m", "2"]),
            "memory": random.choice(["64Mi", "1G", "1.5Gi"]),
        }
        meta: Json = {"name": f"more-{self.number:03d}", "namespace": random.choice(["default", "default", "other"])}
        meta |= {
            "uid": f"more-{random.randrange(10**6):06d}-{self.number}",
            "labels": {"app": app, "v": random.choice("12")},
        }
        meta["creationTimestamp"] = random.choice(["2026-01-15T11:00:00Z", "2026-01-15T11:58:00Z"])
        spec: Json = {"containers": [{"name": "c", "image": "x", "resources": {"requests": requests}}]}
        pod: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        if bound is not None:
            spec["nodeName"] = bound
            pod["status"] = {"phase": "Running", "startTime": meta["creationTimestamp"]}
        if self.chance(0.8):
            owner = {"apiVersion": "apps/v1", "kind": random.choice(["ReplicaSet", "StatefulSet", "DaemonSet"])}
            meta["ownerReferences"] = [{**owner, "name": app, "uid": app, "controller": True}]
        return pod

    def change_pod(self, pod: Json) -> None:
        """Change one thing: what Karpenter weighs, or what it places."""
        number = self.random.randrange(11)
        if number < 5:
            self.change_weight(pod, number)
        else:
            self.change_shape(pod, number)

    def change_weight(self, pod: Json, number: int) -> None:
        random, annotations = self.random, pod["metadata"].setdefault("annotations", {})
        match number:
            case 0:
                pod["spec"]["priority"] = random.choice([-(10**6), 0, 10**6, 2 * 10**9])
            case 1:
                annotations["karpenter.sh/do-not-disrupt"] = random.choice(["true", "5m", "24h", "never", "-1s"])
            case 2:
                cost = random.choice(["-2147483648", "2147483647", "99999999999", "x", "+7"])
                annotations["controller.kubernetes.io/pod-deletion-cost"] = cost
            case 3:
                pod.setdefault("status", {})["phase"] = random.choice(["Running", "Succeeded", "Failed", "Pending"])
            case _:
                pod["metadata"] |= {"deletionTimestamp": "2026-01-15T11:59:30Z", "finalizers": ["x/y"]}

    def change_shape(self, pod: Json, number: int) -> None:
        random, spec = self.random, pod["spec"]
        match number:
            case 5:
                spec["tolerations"] = [random.choice(TOLERATIONS)]
            case 6:
                port = {"containerPort": 80, "hostPort": 8080, "hostIP": random.choice(["", "10.0.0.1"])}
                spec["containers"][0]["ports"] = [{**port, "protocol": random.choice(["TCP", "UDP"])}]
            case 7:
                init = {"name": "i", "image": "x", "resources": {"requests": {"cpu": "3", "memory": "10Mi"}}}
                spec["initContainers"] = [init | ({"restartPolicy": "Always"} if self.chance(0.5) else {})]
            case 8:
                spec["overhead"] = {"cpu": "100m"}
            case 9:
                pod.setdefault("status", {})["conditions"] = [
                    {"type": "PodScheduled", "status": "False", "reason": random.choice(["Unschedulable", "Other"])},
                    {"type": "Ready", "status": random.choice(["True", "False"])},
                ]
            case _:
                self.add_wish(spec, pod["metadata"]["labels"]["app"])

    def add_wish(self, spec: Json, app: str) -> None:
        selecting = {"labelSelector": {"matchLabels": {"app": app if self.chance(0.7) else self.random.choice(APPS)}}}
        wishes: tuple[Callable[[Json, Json], None], ...] = (
            self.add_spread,
            self.add_pod_affinity,
            self.add_pod_anti_affinity,
            self.add_node_affinity,
        )
        self.random.choice(wishes)(spec, selecting)

    def add_spread(self, spec: Json, selecting: Json) -> None:
        random = self.random
        constraint = {
            "maxSkew": random.choice([1, 1, 2, 5]),
            "topologyKey": random.choice([ZONE, ZONE, HOST, CAPACITY, "rack"]),
        }
        constraint |= {
            "whenUnsatisfiable": random.choice(["DoNotSchedule", "ScheduleAnyway"]),
            **copy.deepcopy(selecting),
        }
        if self.chance(0.2):
            constraint["minDomains"] = random.randint(1, 4)
        if self.chance(0.2):
            constraint["matchLabelKeys"] = ["v"]
        for key in ("nodeTaintsPolicy", "nodeAffinityPolicy"):
            if self.chance(0.25):
                constraint[key] = random.choice(["Honor", "Ignore"])
        spec.setdefault("topologySpreadConstraints", []).append(constraint)

    def add_pod_affinity(self, spec: Json, selecting: Json) -> None:
        self.add_pod_term(spec, "podAffinity", selecting)

    def add_pod_anti_affinity(self, spec: Json, selecting: Json) -> None:
        self.add_pod_term(spec, "podAntiAffinity", selecting)

    def add_pod_term(self, spec: Json, kind: str, selecting: Json) -> None:
        random = self.random
        term: Json = {"topologyKey": random.choice([ZONE, HOST, HOST, "rack"]), **selecting}
        if self.chance(0.2):
            term["namespaces"] = random.sample(["default", "other"], random.randint(1, 2))
        if self.chance(0.2):
            term["namespaceSelector"] = random.choice([{}, {"matchLabels": {"team": "blue"}}])
        block = spec.setdefault("affinity", {}).setdefault(kind, {})
        if self.chance(0.6):
            block.setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(term)
        else:
            weighted = {"weight": random.choice([1, 50, 100]), "podAffinityTerm": term}
            block.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(weighted)

    def add_node_affinity(self, spec: Json, _: Json) -> None:
        random = self.random
        block = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
        terms = [
            {"matchExpressions": [self.expression() for _ in range(random.randint(1, 2))]}
            for _ in range(random.randint(1, 3))
        ]
        if self.chance(0.5):
            block["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
        else:
            weights = random.sample([1, 7, 30, 90], len(terms))
            block["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": weight, "preference": term} for weight, term in zip(weights, terms, strict=True)
            ]

    def expression(self) -> Json:
        random = self.random
        key, values = random.choice(
            [
                (ZONE, ZONES),
                ("failure-domain.beta.kubernetes.io/zone", ZONES),
                (CAPACITY, ("spot", "on-demand")),
                ("rack", ("r1", "r2", "r9")),
                ("tier", ("gold", "iron")),
                ("karpenter.kwok.sh/instance-family", ("c", "m", "r")),
                ("karpenter.sh/nodepool", ("pool-0", "pool-1")),
            ]
        )
        if self.chance(0.15):
            bound = {"key": "karpenter.kwok.sh/instance-cpu", "operator": random.choice(["Gt", "Lt"])}
            return {**bound, "values": [random.choice(["1", "4", "8", "31"])]}
        operator = random.choice(OPERATORS)
        chosen = random.sample(values, random.randint(1, len(values))) if operator in ("In", "NotIn") else None
        return {"key": key, "operator": operator} | ({"values": chosen} if chosen else {})
