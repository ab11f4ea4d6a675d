"""Objects as people write them: most fields are right, some are what an API server refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from kschedweb.engine.json_types import Json
from tests.conformance.making.chance import Chance

KEYS = ("app", "zone", "example.com/rack", "topology.kubernetes.io/zone")
BAD_KEYS = ("", "a b", "-app", "a/b/c", "/app", "Example.com/x", "x" * 64, "kubernetes.io/")
VALUES = ("web", "db", "", "1", "A.b_c")
BAD_VALUES = ("a b", "-x", "é", "v" * 64)
NAMES = ("main", "side", "c-1")
BAD_NAMES = ("Main", "a.b", "", "a_b", "n" * 64)
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
AMOUNTS = ("1", "500m", "2Gi", "1.5", "0", "1e3", 2, "0.5Gi", "3000000n", "1536Mi", "100k")
BAD_AMOUNTS = ("-1", "-500m")
NO_AMOUNTS = ("", "abc", "1.2.3", "5x", "--1")
RESOURCES = ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "hugepages-2Mi")
BAD_RESOURCES = ("gpu", "storage", "pods", "requests.example.com/x", "a b", "hugepages-x", "example.com/", "Bad.io/x")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
AFFINITY = ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution")
KINDS = {
    "Pod": ("v1", "/api/v1/namespaces/default/pods"),
    "Node": ("v1", "/api/v1/nodes"),
    "Service": ("v1", "/api/v1/namespaces/default/services"),
    "PersistentVolume": ("v1", "/api/v1/persistentvolumes"),
    "PersistentVolumeClaim": ("v1", "/api/v1/namespaces/default/persistentvolumeclaims"),
    "StorageClass": ("storage.k8s.io/v1", "/apis/storage.k8s.io/v1/storageclasses"),
    "PriorityClass": ("scheduling.k8s.io/v1", "/apis/scheduling.k8s.io/v1/priorityclasses"),
    "PodDisruptionBudget": ("policy/v1", "/apis/policy/v1/namespaces/default/poddisruptionbudgets"),
    "Deployment": ("apps/v1", "/apis/apps/v1/namespaces/default/deployments"),
    "ReplicaSet": ("apps/v1", "/apis/apps/v1/namespaces/default/replicasets"),
    "StatefulSet": ("apps/v1", "/apis/apps/v1/namespaces/default/statefulsets"),
    "DaemonSet": ("apps/v1", "/apis/apps/v1/namespaces/default/daemonsets"),
    "Job": ("batch/v1", "/apis/batch/v1/namespaces/default/jobs"),
}


class RefusedMaker(Chance):
    """Draws one object; ``fault`` is the chance of each value to be a wrong one."""

    def __init__(self, random: Random, fault: float) -> None:
        super().__init__(random)
        self.fault = fault

    def object(self, kind: str) -> Json:
        item = {"apiVersion": KINDS[kind][0], "kind": kind, "metadata": self.metadata(with_name=True)}
        makers: dict[str, Callable[[], Json]] = {
            "Pod": lambda: {"spec": self.pod()},
            "Node": self.node,
            "Service": lambda: {"spec": {"selector": self.labels(), "ports": [{"port": 80}]}},
            "PersistentVolume": self.volume,
            "PersistentVolumeClaim": self.claim,
            "StorageClass": self.storage_class,
            "PriorityClass": self.priority_class,
            "PodDisruptionBudget": self.budget,
            "Job": self.job,
        }
        return {**item, **makers.get(kind, lambda: self.controller(kind))()}

    def either(self, good: Iterable, bad: Iterable) -> Any:
        return self.pick(bad if self.maybe(self.fault) else good)

    def optional(self, value: Callable[[], Any], chance: float = 0.4, **fields: Any) -> Json:
        (name,) = fields
        return {name: value()} if self.maybe(chance) else {}

    def metadata(self, *, with_name: bool = False) -> Json:
        name = {"name": self.either(("web", "web-1", "a.b"), ("Web", "a_b", "-a", "w" * 254))} if with_name else {}
        return {**name, "labels": self.labels()}

    def labels(self) -> Json:
        return {self.either(KEYS, BAD_KEYS): self.either(VALUES, BAD_VALUES) for _ in range(self.random.randint(0, 2))}

    def requirement(self, *, of_nodes: bool) -> Json:
        comparing = ("Gt", "Lt") if of_nodes else ()
        operator = self.either((*OPERATORS, *comparing), ("in", "", "Equal"))
        fits = {"In": (1, 2), "NotIn": (1, 2), "Gt": (1, 1), "Lt": (1, 1)}.get(operator, (0, 0))
        count = self.random.randint(0, 2) if self.maybe(self.fault) else self.random.randint(*fits)
        return {
            "key": self.either(KEYS, BAD_KEYS),
            "operator": operator,
            "values": [self.either(VALUES, BAD_VALUES) for _ in range(count)],
        }

    def selector(self) -> Json:
        expressions = [self.requirement(of_nodes=False) for _ in range(self.random.randint(0, 2))]
        return {"matchLabels": self.labels(), "matchExpressions": expressions}

    def node_term(self) -> Json:
        term: Json = {"matchExpressions": [self.requirement(of_nodes=True) for _ in range(self.random.randint(1, 2))]}
        if self.maybe(0.3):
            key = self.either(("metadata.name",), ("metadata.labels", ""))
            values = self.either((["node-1"],), ([], ["a", "b"], ["Node"]))
            term["matchFields"] = [
                {"key": key, "operator": self.either(("In", "NotIn"), ("Exists",)), "values": values}
            ]
        return term

    def node_selector(self) -> Json:
        return {"nodeSelectorTerms": [] if self.maybe(self.fault) else [self.node_term()]}

    def term(self) -> Json:
        term = {"topologyKey": self.either(KEYS, BAD_KEYS)}
        term |= self.optional(self.selector, 0.8, labelSelector=1)
        term |= self.optional(self.selector, 0.2, namespaceSelector=1)
        term |= self.optional(lambda: [self.either(("default",), ("Default", "a.b"))], 0.3, namespaces=1)
        term |= self.optional(self.label_keys, 0.3, matchLabelKeys=1)
        return term | self.optional(self.label_keys, 0.3, mismatchLabelKeys=1)

    def label_keys(self) -> list[str]:
        return [self.either(KEYS, BAD_KEYS) for _ in range(self.random.randint(1, 2))]

    def affinity(self) -> Json:
        weight = lambda: self.either((1, 50, 100), (0, 101, -1))  # noqa: E731
        affinity: Json = {}
        if self.maybe(0.6):
            preferred = [{"weight": weight(), "preference": self.node_term()}]
            affinity["nodeAffinity"] = dict(zip(AFFINITY, (self.node_selector(), preferred), strict=True))
        for kind in ("podAffinity", "podAntiAffinity"):
            preferred = [{"weight": weight(), "podAffinityTerm": self.term()}]
            affinity |= {kind: dict(zip(AFFINITY, ([self.term()], preferred), strict=True))} if self.maybe(0.5) else {}
        return affinity

    def constraint(self) -> Json:
        constraint = {
            "maxSkew": self.either((1, 2), (0, -1)),
            "topologyKey": self.either(KEYS, ("",)),
            "whenUnsatisfiable": self.either(("DoNotSchedule", "ScheduleAnyway"), ("Maybe", "")),
        }
        if constraint["whenUnsatisfiable"] == "DoNotSchedule" or self.maybe(self.fault):
            constraint |= self.optional(lambda: self.either((1, 3), (0, -2)), 0.4, minDomains=1)
        constraint |= self.optional(self.selector, 0.8, labelSelector=1)
        constraint |= self.optional(self.label_keys, 0.3, matchLabelKeys=1)
        constraint |= self.optional(lambda: self.either(("Honor", "Ignore"), ("honor", "")), 0.3, nodeAffinityPolicy=1)
        return constraint | self.optional(lambda: self.either(("Honor", "Ignore"), ("No",)), 0.3, nodeTaintsPolicy=1)

    def toleration(self) -> Json:
        operator = self.either(("Exists", "Equal", ""), ("Gt", "Lt", "Some", "exists"))
        toleration = {"key": self.either(KEYS, BAD_KEYS), "operator": operator}
        if operator in ("Equal", "") or self.maybe(self.fault):
            toleration["value"] = self.either(VALUES, BAD_VALUES)
        toleration |= self.optional(lambda: self.either((*EFFECTS, ""), ("Never",)), 0.6, effect=1)
        if toleration.get("effect") == "NoExecute" or self.maybe(self.fault):
            toleration["tolerationSeconds"] = self.pick((0, 30, -1))
        return toleration

    def taint(self) -> Json:
        effect = self.either(EFFECTS, ("", "Never"))
        return {"key": self.either(KEYS, BAD_KEYS), "value": self.either(VALUES, BAD_VALUES), "effect": effect}

    def amounts(self, names: Iterable[str] = RESOURCES, bad: Iterable[str] = BAD_RESOURCES) -> Json:
        amounts = NO_AMOUNTS if self.maybe(self.fault / 8) else BAD_AMOUNTS
        chosen = {self.either(names, bad) for _ in range(self.random.randint(0, 3))}
        return {name: self.either(AMOUNTS, amounts) for name in sorted(chosen)}

    def requirements(self) -> Json:
        limits = self.amounts()
        requests = dict(limits) if self.maybe(0.7) else {}
        if self.maybe(0.5):
            requests |= self.amounts(("cpu", "memory", "ephemeral-storage"))
        return {"limits": limits, "requests": requests}

    def port(self) -> Json:
        port = {"containerPort": self.either((80, 443, 8080), (0, 70000, -1))}
        port |= self.optional(lambda: self.either((80, 8080), (70000, -5)), 0.4, hostPort=1)
        port |= self.optional(lambda: self.either(("TCP", "UDP", "SCTP"), ("tcp",)), 0.4, protocol=1)
        return port | self.optional(
            lambda: self.either(("http", "web-1"), ("Http", "-a", "12", "a--b", "x" * 16)), 0.3, name=1
        )

    def container(self, name: str) -> Json:
        container = {
            "name": self.either((name,), BAD_NAMES),
            "image": "registry.test/app:1",
            "resources": self.requirements(),
        }
        return container | self.optional(lambda: [self.port() for _ in range(self.random.randint(1, 2))], ports=1)

    def pod(self) -> Json:
        """A spec whose parts are drawn so seldom that many have one fault alone."""
        names = self.either((NAMES,), (("main", "main", "side"),))
        spec: Json = {"containers": [self.container(name) for name in names[: self.random.randint(1, 2)]]}
        spec |= self.optional(lambda: [self.container(names[2])], 0.2, initContainers=1)
        spec |= self.optional(self.affinity, affinity=1)
        spec |= self.optional(
            lambda: [self.constraint() for _ in range(self.random.randint(1, 3))], topologySpreadConstraints=1
        )
        spec |= self.optional(lambda: [self.toleration() for _ in range(self.random.randint(1, 2))], tolerations=1)
        spec |= self.optional(self.labels, 0.3, nodeSelector=1)
        spec |= self.optional(self.gates, 0.2, schedulingGates=1)
        spec |= self.optional(lambda: self.either(("node-1",), ("Node 1",)), 0.15, nodeName=1)
        spec |= self.optional(lambda: True, 0.15, hostNetwork=1)
        spec |= self.optional(lambda: self.either(("Always",), ("Sometimes",)), 0.15, restartPolicy=1)
        spec |= self.optional(self.claims, 0.2, resourceClaims=1)
        if self.maybe(0.2):
            spec["containers"][0]["resources"]["claims"] = [{"name": self.either(("gpu",), ("other", ""))}]
        spec |= self.optional(self.pod_resources, 0.15, resources=1)
        if self.maybe(0.2):
            volume = {"persistentVolumeClaim": {"claimName": self.either(("data",), ("",))}}
            spec["volumes"] = [{"name": self.either(("one", "two"), BAD_NAMES), **volume} for _ in range(2)]
        return spec

    def pod_resources(self) -> Json:
        """Resources of a pod as a whole, which are as a rule above those of its containers."""
        limits = self.amounts(("cpu", "memory"), ("ephemeral-storage", "nvidia.com/gpu", "hugepages-2Mi", "a b"))
        return {
            "limits": limits,
            "requests": self.amounts(("cpu", "memory"), ("storage",)) if self.maybe(0.3) else limits,
        }

    def claims(self) -> list[Json]:
        names = [self.either(("gpu", "net"), BAD_NAMES) for _ in range(2)]
        return [{"name": name, "resourceClaimName": self.either(("shared",), ("Shared", "a_b"))} for name in names]

    def gates(self) -> list[Json]:
        return [{"name": self.either(("example.com/a", "example.com/b"), BAD_KEYS)} for _ in range(2)]

    def node(self) -> Json:
        taints = [self.taint() for _ in range(self.random.randint(0, 3))]
        capacity = self.amounts(("cpu", "memory", "pods", "nvidia.com/gpu"), ("example.com/x", "anything"))
        allocatable = self.optional(lambda: self.amounts(("cpu", "pods"), ("example.com/x",)), 0.5, allocatable=1)
        return {"spec": {"taints": taints}, "status": {"capacity": capacity, **allocatable}}

    def modes(self) -> list[str]:
        return self.either(
            (["ReadWriteOnce"], ["ReadWriteMany", "ReadOnlyMany"], ["ReadWriteOncePod"]),
            ([], ["Write"], ["ReadWriteOnce", "ReadWriteOncePod"]),
        )

    def size(self) -> Json:
        return self.either(
            ({"storage": "1Gi"}, {"storage": "500M"}),
            ({}, {"storage": "0"}, {"storage": "-1Gi"}, {"storage": "-0.5"}, {"storage": "x"}),
        )

    def volume(self) -> Json:
        source = self.either(({"hostPath": {"path": "/data"}},), ({"local": {"path": "/data"}},))
        spec = {"accessModes": self.modes(), "capacity": self.size(), **source}
        spec |= self.optional(lambda: self.either(("Retain", "Delete"), ("Keep",)), persistentVolumeReclaimPolicy=1)
        spec |= self.optional(lambda: self.either(("fast",), ("Fast",)), storageClassName=1)
        required = lambda: self.either(({"required": self.node_selector()},), ({},))  # noqa: E731
        return {"spec": spec | self.optional(required, 0.5, nodeAffinity=1)}

    def claim(self) -> Json:
        spec = {"accessModes": self.modes(), "resources": {"requests": self.size()}}
        spec |= self.optional(self.selector, selector=1)
        return {"spec": spec | self.optional(lambda: self.either(("fast",), ("Fast",)), storageClassName=1)}

    def storage_class(self) -> Json:
        storage_class = {"provisioner": self.either(("example.com/disks",), ("", "a b"))}
        storage_class |= self.optional(
            lambda: self.either(("Immediate", "WaitForFirstConsumer"), ("Later",)), volumeBindingMode=1
        )
        storage_class |= self.optional(lambda: self.either(("Retain", "Delete"), ("Keep",)), reclaimPolicy=1)
        return storage_class | self.optional(
            lambda: [{"matchLabelExpressions": [self.topology_term(), self.topology_term()]}], allowedTopologies=1
        )

    def topology_term(self) -> Json:
        return {"key": self.either(KEYS, BAD_KEYS), "values": self.either((["a"], ["a", "b"]), ([], ["a", "a"]))}

    def priority_class(self) -> Json:
        priority_class: Json = {"value": self.either((0, 1000, -5, 1_000_000_000), (1_000_000_001, 2_000_000_000))}
        priority_class |= self.optional(
            lambda: self.either(("Never", "PreemptLowerPriority"), ("Always",)), preemptionPolicy=1
        )
        if self.maybe(self.fault):
            priority_class["metadata"] = {"name": self.pick(("system-mine", "system-node-critical"))}
        return priority_class

    def budget(self) -> Json:
        bound = self.either((1, 0, "50%", "100%"), (-1, "150%", "half", "5 %"))
        field = self.pick(("minAvailable", "maxUnavailable"))
        spec = {field: bound, "selector": self.selector()}
        policy = self.optional(
            lambda: self.either(("IfHealthyBudget", "AlwaysAllow"), ("Ask",)), 0.3, unhealthyPodEvictionPolicy=1
        )
        return {"spec": spec | policy}

    def controller(self, kind: str) -> Json:
        labels = {"app": "web"}
        selector = self.either(({"matchLabels": labels},), ({}, {"matchLabels": {"app": "db"}}, self.selector()))
        template = {"metadata": {"labels": {**self.labels(), **labels}}, "spec": self.pod()}
        spec: Json = {"template": template}
        spec |= {} if self.maybe(self.fault / 2) else {"selector": selector}
        if kind != "DaemonSet":
            spec |= self.optional(lambda: self.either((0, 3), (-1,)), replicas=1)
        return {"spec": spec}

    def job(self) -> Json:
        template = {"metadata": {"labels": self.labels()}, "spec": {**self.pod(), "restartPolicy": "Never"}}
        spec = {"template": template} | self.optional(lambda: self.either((1, 2), (-1,)), parallelism=1)
        return {"spec": spec}
