"""A cluster of many kinds of nodes and pods that a real API server takes; the same seed makes the same one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from kschedweb.engine.json_types import Json

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
ZONES, APPS, TEAMS = ["a", "b", "c"], ["web", "db", "cache"], ["red", "blue"]
NAMESPACES = {"shop": "prod", "bank": "prod", "lab": "dev"}
PRIORITIES = {"low": 10, "middle": 100, "high": 1000}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
IMAGES = {"registry.example/web:v1": 300_000_000, "registry.example/db:v1": 2_000_000_000}
SMALL = range(12)  # the first nodes: one CPU, full of pods of low priority
DRIVER = "disk.example.com"
KINDS = {"Namespace": "v1", "PriorityClass": "scheduling.k8s.io/v1", "CSINode": "storage.k8s.io/v1"}
KINDS |= {"PodDisruptionBudget": "policy/v1", "ReplicaSet": "apps/v1"}


def thing(kind: str, name: str, namespace: str = "", **fields: Any) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": KINDS.get(kind, "v1"), "kind": kind, "metadata": metadata, **fields}


class Varied:
    """Makes the objects of one cluster from ``seed``."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.number = 0

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def nodes(self, count: int) -> list[Json]:
        return [self.node(number) for number in range(count)]

    def node(self, number: int) -> Json:
        pick = self.random.choice
        name = f"node-{number:03}"
        labels = {HOST: name, "disk": pick(["ssd", "hdd"]), "generation": str(pick([1, 5, 9]))}
        if number % 20:
            labels[ZONE] = ZONES[number % 3]
        small = number in SMALL
        cpu = "1" if small else pick(["2", "4", "8", "7500m"])
        amounts = {"cpu": cpu, "memory": pick(["8Gi", "16Gi", "15500Mi"]), "ephemeral-storage": "100Gi"}
        amounts["pods"] = "110" if small else pick(["110", "40", "4"])
        if self.maybe(0.1):
            amounts["example.com/gpu"] = pick(["1", "4"])
        labels["pool"] = "small" if small else pick(["main", "main", "spare"])
        taints = []
        if not small and self.maybe(0.15):
            taints.append({"key": "dedicated", "value": pick(TEAMS), "effect": pick(["NoSchedule", "NoExecute"])})
        if self.maybe(0.2):
            taints.append({"key": "spot", "effect": "PreferNoSchedule"})
        spec: Json = {"taints": taints} if taints else {}
        if not small and self.maybe(0.04):
            spec["unschedulable"] = True
        images = [{"names": [image], "sizeBytes": size} for image, size in IMAGES.items() if self.maybe(0.3)]
        conditions = [{"type": "Ready", "status": "True"}]
        status = {"capacity": amounts, "allocatable": amounts, "images": images, "conditions": conditions}
        return {"metadata": {"name": name, "labels": labels}, "apiVersion": "v1", "kind": "Node"} | {
            "spec": spec,
            "status": status,
        }

    def referents(self) -> Iterator[Json]:
        """Yield the pods' referents: namespaces, priority classes, services, controllers, budgets, claims, volumes."""
        for name, environment in NAMESPACES.items():
            item = thing("Namespace", name)
            item["metadata"]["labels"] = {"env": environment}
            yield item
        for name, value in PRIORITIES.items():
            yield thing("PriorityClass", name, value=value)
        yield thing("PriorityClass", "polite", value=1000, preemptionPolicy="Never")
        for namespace in NAMESPACES:
            yield thing("Service", "web", namespace, spec={"selector": {"app": "web"}, "ports": [{"port": 80}]})
            yield from self.claims(namespace)
        labels = {"app": "db"}
        container = {"name": "main", "image": "registry.example/db:v1"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        yield thing("ReplicaSet", "db", "bank", spec={"selector": {"matchLabels": labels}, "template": template})
        for app, allowed in (("web", 0), ("db", 1)):
            budget = thing("PodDisruptionBudget", app, "shop", spec={"selector": {"matchLabels": {"app": app}}})
            yield budget | {"status": {"disruptionsAllowed": allowed, **{key: 0 for key in BUDGET_COUNTS}}}
        for number in range(0, 200, 9):
            drivers = [{"name": DRIVER, "nodeID": str(number), "allocatable": {"count": 1}}]
            yield thing("CSINode", f"node-{number:03}", spec={"drivers": drivers})

    def claims(self, namespace: str) -> Iterator[Json]:
        """One claim of each kind: not bound yet, in zone b, nowhere, and for one pod alone."""
        yield self.claim(namespace, "unbound")
        for name, zone in (("zonal", "b"), ("nowhere", "z"), ("single", ""), ("disk-1", ""), ("disk-2", "")):
            claim = self.claim(namespace, name)
            claim["spec"]["volumeName"] = f"{namespace}-{name}"
            claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
            mode = "ReadWriteOncePod" if name == "single" else "ReadWriteOnce"
            claim["spec"]["accessModes"] = [mode]
            yield claim
            spec = {"capacity": {"storage": "1Gi"}, "accessModes": [mode], "storageClassName": "none"}
            spec["csi"] = {"driver": DRIVER, "volumeHandle": f"{namespace}-{name}"}
            if zone:
                expression = {"key": ZONE, "operator": "In", "values": [zone]}
                spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
            yield thing("PersistentVolume", f"{namespace}-{name}", spec=spec)

    @staticmethod
    def claim(namespace: str, name: str) -> Json:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        return thing("PersistentVolumeClaim", name, namespace, spec=spec | {"storageClassName": "none"})

    def bound(self) -> Iterator[Json]:
        """Pods that are on nodes already: the small ones are full, and one zone keeps an app away."""
        for number in SMALL:
            for _ in range(2):
                pod = self.pod(cpu="450m", priority="low")
                pod["spec"]["nodeName"] = f"node-{number:03}"
                yield pod
        for number in range(20, 140):
            pod = self.pod()
            pod["spec"]["nodeName"] = f"node-{number:03}"
            if number % 30 == 21:
                pod["spec"]["affinity"] = anti(pod_term({"app": "unwanted"}, ZONE))
            self.decorate(pod, 0.5)
            yield pod

    def pod(self, *, cpu: str = "", priority: str = "") -> Json:
        """A plain pod."""
        pick = self.random.choice
        self.number += 1
        requests = {"cpu": cpu or pick(["50m", "0.1", "250m", "1"]), "memory": pick(["64Mi", "500M", "1Gi"])}
        image = pick([*IMAGES, "registry.example/other"])
        container = {"name": "main", "image": image, "resources": {"requests": requests}}
        # Nothing runs here that could let a pod end slowly.
        spec: Json = {"containers": [container], "terminationGracePeriodSeconds": 0}
        if priority or self.maybe(0.5):
            spec["priorityClassName"] = priority or pick(list(PRIORITIES))
        pod = thing("Pod", f"pod-{self.number:04}", pick(list(NAMESPACES)), spec=spec)
        pod["metadata"]["labels"] = {"app": pick(APPS), "team": pick(TEAMS)}
        return pod

    def pending(self, count: int) -> Iterator[Json]:
        """Pods to place, of which every sixth asks for what cannot be had at once."""
        wishes = [*IMPOSSIBLE, *IMPOSSIBLE, *HARD]
        self.random.shuffle(wishes)
        for number in range(count):
            pod = self.pod()
            if number % 6 == 5:
                wishes[number // 6 % len(wishes)](self, pod)
            else:
                self.decorate(pod, 1.0)
            yield pod

    def decorate(self, pod: Json, scale: float) -> None:
        """Add wishes of every kind that the pod's fellows can have met."""
        spec, pick = pod["spec"], self.random.choice
        main = spec["containers"][0]
        if self.maybe(0.15 * scale):
            main["ports"] = [{"containerPort": 80, "hostPort": pick([80, 443]), "protocol": pick(["TCP", "UDP"])}]
        if self.maybe(0.1 * scale):
            spec["initContainers"] = [{"name": "init", "image": "i", "resources": {"requests": {"cpu": "900m"}}}]
        if self.maybe(0.3 * scale):
            spec["tolerations"] = [{"key": "dedicated", "operator": "Equal", "value": pick(TEAMS)}]
        if self.maybe(0.2 * scale):
            spec["nodeSelector"] = {"disk": pick(["ssd", "hdd"])}
        if self.maybe(0.3 * scale):
            spec["topologySpreadConstraints"] = [self.spread(pod)]
        if self.maybe(0.06 * scale):
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "zonal"}}]
        if self.maybe(0.15 * scale):
            spec["schedulerName"] = "packing"
        affinity = spec.setdefault("affinity", {})
        if self.maybe(0.3 * scale):
            affinity.update(self.pod_affinity(pod))
        if self.maybe(0.3 * scale):
            affinity["nodeAffinity"] = self.node_affinity()

    def spread(self, pod: Json) -> Json:
        pick = self.random.choice
        return {
            "maxSkew": pick([1, 2, 5]),
            "topologyKey": pick([ZONE, ZONE, HOST]),
            "whenUnsatisfiable": pick(["DoNotSchedule", "ScheduleAnyway"]),
            "labelSelector": {"matchLabels": {"app": pod["metadata"]["labels"]["app"]}},
            "nodeTaintsPolicy": pick(["Honor", "Ignore"]),
        }

    def pod_affinity(self, pod: Json) -> Json:
        pick = self.random.choice
        term = pod_term({"app": pick(APPS)}, pick([ZONE, HOST]))
        if self.maybe(0.4):
            term["namespaceSelector"] = {"matchLabels": {"env": pick(["prod", "dev"])}}
        preferred = [{"weight": self.random.randint(1, 100), "podAffinityTerm": term}]
        same_app_term = pod_term({"app": pod["metadata"]["labels"]["app"]}, ZONE)
        return pick(
            [
                {"podAffinity": {PREFERRED: preferred}},
                {"podAntiAffinity": {PREFERRED: preferred}},
                {"podAffinity": {REQUIRED: [same_app_term]}},
                {"podAntiAffinity": {REQUIRED: [pod_term({"team": "none", **pod["metadata"]["labels"]}, HOST)]}},
            ]
        )

    def node_affinity(self) -> Json:
        pick = self.random.choice
        newer = {"key": "generation", "operator": pick(["Gt", "Lt"]), "values": ["4"]}
        zone_requirement = {"key": ZONE, "operator": pick(["In", "NotIn"]), "values": self.random.sample(ZONES, 2)}
        terms = [{"matchExpressions": [newer]}, {"matchExpressions": [zone_requirement]}]
        preferred = [{"weight": self.random.randint(1, 100), "preference": term} for term in terms]
        return pick([{REQUIRED: {"nodeSelectorTerms": terms}}, {PREFERRED: preferred}])


BUDGET_COUNTS = ("currentHealthy", "desiredHealthy", "expectedPods")
Wish = Callable[[Varied, Json], None]


def pod_term(labels: dict[str, str], key: str) -> Json:
    return {"labelSelector": {"matchLabels": labels}, "topologyKey": key}


def anti(term: Json) -> Json:
    return {"podAntiAffinity": {REQUIRED: [term]}}


def node_term(key: str, operator: str, *values: str) -> Json:
    expression = {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}


def asking(resource: str, amount: str) -> Wish:
    def wish(varied: Varied, pod: Json) -> None:
        resources = pod["spec"]["containers"][0]["resources"]
        resources["requests"][resource] = amount
        if "/" in resource:
            resources["limits"] = {resource: amount}

    return wish


def with_spec(**changes: Any) -> Wish:
    return lambda varied, pod: pod["spec"].update(changes)


def claiming(claim: str, **changes: Any) -> Wish:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return with_spec(volumes=volumes, **changes)


def polite(varied: Varied, pod: Json) -> None:
    asking("cpu", "900m")(varied, pod)
    pod["spec"] |= {"nodeSelector": {"pool": "small"}, "priorityClassName": "polite"}


def alone_in_its_zone(varied: Varied, pod: Json) -> None:
    pod["metadata"] |= {"namespace": "shop", "labels": {"app": "alone"}}
    pod["spec"]["affinity"] = anti(pod_term({"app": "alone"}, ZONE)) | node_term(ZONE, "Exists")


def unwanted(varied: Varied, pod: Json) -> None:
    pod["metadata"]["labels"]["app"] = "unwanted"
    pod["spec"]["affinity"] = node_term(ZONE, "Exists")


def taken_port(varied: Varied, pod: Json) -> None:
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": 9, "hostPort": 9}]
    pod["spec"]["nodeSelector"] = {HOST: "node-150"}


def too_few_domains(varied: Varied, pod: Json) -> None:
    labels = pod["metadata"]["labels"] = {"app": "wide"}
    selector = {"matchLabels": labels}
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "minDomains": 7}
    pod["metadata"]["namespace"] = "shop"
    pod["spec"]["topologySpreadConstraints"] = [constraint | {"labelSelector": selector}]


def single_claim(varied: Varied, pod: Json) -> None:
    pod["metadata"]["namespace"] = "bank"
    claiming("single")(varied, pod)


def forceful(varied: Varied, pod: Json) -> None:
    """Fits only where pods of lower priority go."""
    asking("cpu", varied.random.choice(["400m", "900m"]))(varied, pod)
    pod["spec"] |= {"nodeSelector": {"pool": "small"}, "priorityClassName": varied.random.choice(["middle", "high"])}


IMPOSSIBLE: list[Wish] = [
    asking("cpu", "64"),
    asking("memory", "1Ti"),
    asking("ephemeral-storage", "2Ti"),
    asking("example.com/none", "1"),
    asking("example.com/gpu", "9"),
    with_spec(nodeSelector={"disk": "tape"}),
    with_spec(affinity=node_term("generation", "Gt", "100")),
    with_spec(affinity={"podAffinity": {REQUIRED: [pod_term({"app": "absent"}, ZONE)]}}),
    polite,
    alone_in_its_zone,
    unwanted,
    taken_port,
    too_few_domains,
    single_claim,
    claiming("unbound"),
    claiming("nowhere"),
    claiming("missing"),
]
HARD: list[Wish] = [
    *[forceful] * 8,
    claiming("zonal"),
    claiming("disk-1", nodeSelector={HOST: "node-018"}),
    claiming("disk-2", nodeSelector={HOST: "node-018"}),
]
