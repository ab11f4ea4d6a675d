"""Scenarios for Karpenter that nobody wrote: recorded ones with much of them changed, and much put on top."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from random import Random

from kschedweb.engine.json_types import Json
from tests.conformance.making.nodepoolpods import APPS, CAPACITY, HOST, TOLERATIONS, ZONE, ZONES, Pods

TERMINATING = {"deletionTimestamp": "2026-01-15T11:59:30Z", "finalizers": ["karpenter.sh/termination"]}


def mix_scenario(random: Random, recorded_scenarios: Sequence[Json], name: str) -> Json:
    """A scenario made of one that is ``known``."""
    return _MixedScenario(random, copy.deepcopy(random.choice(recorded_scenarios)), name).scenario()


class _MixedScenario(Pods):
    def __init__(self, random: Random, cluster: Json, name: str) -> None:
        super().__init__(random)
        self.cluster = {**cluster, "name": name}
        self.objects: list[Json] = self.cluster["objects"]

    def objects_of_kind(self, kind: str) -> list[Json]:
        return [item for item in self.objects if item["kind"] == kind]

    def sample_up_to(self, items: Sequence[Json], limit: int) -> list[Json]:
        return self.random.sample(list(items), min(len(items), self.random.randint(0, limit)))

    def scenario(self) -> Json:
        random = self.random
        options = self.cluster.setdefault("options", {})
        for key, values in (("preferencePolicy", ("Respect", "Ignore")), ("minValuesPolicy", ("Strict", "BestEffort"))):
            if self.chance(0.25):
                options[key] = random.choice(values)
        if self.chance(0.3):
            options["spotToSpotConsolidation"] = self.chance(0.5)
        self.cluster["disrupt"] = bool(self.objects_of_kind("Node")) and self.chance(0.85)
        for entry in self.sample_up_to(self.cluster["instanceTypes"], 3):
            self.change_type(entry)
        for entry in self.sample_up_to(self.cluster["nodePools"], 2):
            self.change_pool(entry)
        self.change_machines()
        if self.chance(0.3):
            self.add_storage()
        self.add_pods()
        for entry in self.sample_up_to(self.objects_of_kind("Pod"), 8):
            self.change_pod(entry)
        self.add_others()
        random.shuffle(self.objects)
        return self.cluster

    # What the cloud sells and NodePools

    def change_type(self, instance_type: Json) -> None:
        random, offerings = self.random, instance_type["offerings"]
        match random.randrange(5):
            case 0:
                for offering in self.sample_up_to(offerings, len(offerings)):
                    offering["available"] = not offering.get("available", True)
            case 1:
                for offering in self.sample_up_to(offerings, len(offerings)):
                    offering["price"] = round(offering["price"] * random.choice([0, 0.5, 1.5, 3]), 6)
            case 2:
                instance_type["overhead"] = {"cpu": random.choice(["0", "500m", "99"]), "memory": "1Gi"}
            case 3:
                instance_type["capacity"]["hugepages-2Mi"] = random.choice(["512Mi", "1000Gi"])
            case _:
                identity = f"res-{random.randint(0, 2)}"
                slots = random.choice([0, 1, 3])
                reserved = {"zone": random.choice(ZONES), "capacityType": "reserved", "price": 0.0001}
                offerings.append({**reserved, "reservationID": identity, "reservationCapacity": slots})

    def change_pool(self, pool: Json) -> None:
        random, spec = self.random, pool["spec"]
        inner = spec["template"]["spec"]
        match random.randrange(8):
            case 0:
                spec["weight"] = random.randint(1, 100)
            case 1:
                limits = ({"cpu": "30"}, {"nodes": "4"}, {"memory": "100Gi", "nodes": "9"}, {"example.com/gpu": "1"})
                spec["limits"] = random.choice(limits)
            case 2:
                effect = random.choice(["NoSchedule", "NoExecute", "PreferNoSchedule"])
                inner["taints"] = [{"key": "dedicated", "value": random.choice(["a", "b"]), "effect": effect}]
            case 3:
                self.narrow_pool(inner)
            case 4:
                policies = ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")
                spec["disruption"]["consolidationPolicy"] = random.choice(policies)
            case 5:
                spec["disruption"]["consolidateAfter"] = random.choice(["0s", "10m", "2h", "Never"])
            case 6:
                spec["disruption"]["budgets"] = [self.budget() for _ in range(random.randint(0, 3))]
            case _:
                labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
                labels["tier"] = random.choice(["gold", "iron"])

    def narrow_pool(self, inner: Json) -> None:
        random = self.random
        constrained_keys = {requirement["key"] for requirement in inner.get("requirements") or ()}
        new_requirement: Json = random.choice(
            [
                {"key": "karpenter.kwok.sh/instance-cpu", "operator": "Gte", "values": ["4"]},
                {"key": "karpenter.kwok.sh/instance-cpu", "operator": "Lte", "values": ["16"]},
                {"key": "karpenter.kwok.sh/instance-family", "operator": "Exists", "minValues": random.randint(1, 4)},
                {"key": ZONE, "operator": "NotIn", "values": [random.choice(ZONES)], "minValues": 2},
                {"key": CAPACITY, "operator": "In", "values": random.sample(["spot", "on-demand", "reserved"], 2)},
                {"key": "rack", "operator": "In", "values": ["r1", "r2", "r3"]},
                {"key": "rack", "operator": "NotIn", "values": ["r1"]},
                {"key": "rack", "operator": "DoesNotExist"},
                {"key": "beta.kubernetes.io/arch", "operator": "In", "values": ["amd64", "arm64"]},
            ]
        )
        if new_requirement["key"] not in constrained_keys and not (
            new_requirement["key"].startswith("beta") and "kubernetes.io/arch" in constrained_keys
        ):
            inner.setdefault("requirements", []).append(new_requirement)

    def budget(self) -> Json:
        random = self.random
        budget: Json = {"nodes": random.choice(["0", "1", "2", "5%", "34%", "60%", "100%"])}
        if self.chance(0.4):
            budget["reasons"] = random.sample(["Empty", "Underutilized", "Drifted"], random.randint(1, 2))
        if self.chance(0.4):
            budget["schedule"] = random.choice(
                ["0 9 * * mon-fri", "*/5 * * * *", "@daily", "0 12 15 1 *", "0 12 * * *"]
            )
            budget["duration"] = random.choice(["1m", "30m", "12h"])
        return budget

    # Machines

    def change_machines(self) -> None:
        claims = {node_claim["status"]["providerID"]: node_claim for node_claim in self.objects_of_kind("NodeClaim")}
        for node in self.sample_up_to(self.objects_of_kind("Node"), 3):
            claim = claims.get(node["spec"]["providerID"])
            if claim is not None:
                self.change_machine(node, claim)

    def change_machine(self, node: Json, claim: Json) -> None:
        changes = (
            *(self.terminate, self.begin, self.disown, self.cordon, self.strip, self.rename_type),
            *(self.fall_silent, self.settle, self.unregister, self.label, self.reboot),
        )
        changes[self.random.randrange(len(changes))](node, claim)

    def terminate(self, _: Json, claim: Json) -> None:
        claim["metadata"] |= TERMINATING

    def begin(self, node: Json, _: Json) -> None:
        """The node is there, and nothing of it is known yet."""
        labels = node["metadata"]["labels"]
        labels.pop("karpenter.sh/registered", None)
        labels.pop("karpenter.sh/initialized", None)
        node["status"]["allocatable"] = {}

    def disown(self, node: Json, claim: Json) -> None:
        self.objects.remove(claim)
        labels = node["metadata"]["labels"]
        for key in [label for label in labels if label.startswith("karpenter.sh/")]:
            del labels[key]

    def cordon(self, node: Json, _: Json) -> None:
        taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        node["spec"]["taints"] = [*(node["spec"].get("taints") or ()), taint]

    def strip(self, node: Json, _: Json) -> None:
        node["metadata"]["labels"].pop(self.random.choice([ZONE, CAPACITY, HOST]), None)

    def rename_type(self, node: Json, _: Json) -> None:
        node["metadata"]["labels"]["node.kubernetes.io/instance-type"] = "unknown.2x"

    def fall_silent(self, node: Json, _: Json) -> None:
        node["status"]["conditions"] = [{"type": "Ready", "status": "False"}]

    def settle(self, _: Json, claim: Json) -> None:
        claim["status"]["lastPodEventTime"] = "2026-01-15T11:55:00Z"

    def label(self, node: Json, _: Json) -> None:
        labels = node["metadata"]["labels"]
        labels["rack"] = self.random.choice(["r1", "r2"])
        labels["tier"] = "gold"

    def reboot(self, _: Json, claim: Json) -> None:
        state = {"type": "Rebooting", "status": self.random.choice(["True", "False"]), "reason": "x", "message": ""}
        claim["status"]["conditions"].append({**state, "lastTransitionTime": "2026-01-15T11:00:00Z"})

    def unregister(self, node: Json, claim: Json) -> None:
        """The machine is on its way: there is no node of it yet."""
        name = node["metadata"]["name"]
        self.objects.remove(node)
        for pod in [pod for pod in self.objects_of_kind("Pod") if pod["spec"].get("nodeName") == name]:
            self.objects.remove(pod)
        claim["status"]["conditions"] = claim["status"]["conditions"][:1]

    # Pods

    def add_pods(self) -> None:
        nodes = [node["metadata"]["name"] for node in self.objects_of_kind("Node")]
        for _ in range(self.random.choice([0, 0, 1, 3, 6, 16])):
            bound = self.random.choice(nodes) if nodes and self.chance(0.4) else None
            pod = self.pod(bound)
            for _ in range(self.random.choice([0, 1, 1, 2])):
                self.add_wish(pod["spec"], pod["metadata"]["labels"]["app"])
            self.objects.append(pod)

    # What else there is

    def add_storage(self) -> None:
        random = self.random
        allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": [zone]}]} for zone in random.sample(ZONES, 2)]
        late = {"provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
        self.objects += [
            {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "late"}, **late},
            {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "zonal"}, **late}
            | {"allowedTopologies": allowed},
        ]
        for number in range(random.randint(1, 4)):
            name, spec = f"data-{number}", {"storageClassName": random.choice(["late", "zonal", "none"])}
            meta: Json = {"name": name, "namespace": "default"}
            if self.chance(0.5):
                spec["volumeName"] = f"pv-{number}"
                meta["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
                # The program's client looks for the volume of a pod in the pod's namespace too.
                volume = self.volume(f"pv-{number}")
                of_pod = {**volume, "metadata": {**volume["metadata"], "namespace": "default"}}
                self.objects += [volume, of_pod]
            self.objects.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec})
            pod = self.pod(None)
            pod["metadata"]["namespace"] = "default"
            pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
            self.objects.append(pod)
        for node in self.sample_up_to(self.objects_of_kind("Node"), 2):
            drivers = [{"name": "csi.example.com", "nodeID": "n", "allocatable": {"count": random.randint(0, 2)}}]
            meta = {"name": node["metadata"]["name"]}
            self.objects.append(
                {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": meta, "spec": {"drivers": drivers}}
            )

    def volume(self, name: str) -> Json:
        terms = [
            {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
            for zone in self.random.sample(ZONES, self.random.randint(1, 2))
        ]
        spec: Json = {"csi": {"driver": "csi.example.com", "volumeHandle": name}}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}

    def add_others(self) -> None:
        random = self.random
        for name, team in (("default", "blue"), ("other", "red")):
            if not any(namespace["metadata"]["name"] == name for namespace in self.objects_of_kind("Namespace")):
                meta = {"name": name, "labels": {"team": team}}
                self.objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        if self.chance(0.3):
            spec: Json = {"selector": {"matchLabels": {"app": random.choice(APPS)}}}
            spec |= random.choice(
                [{"maxUnavailable": 0}, {"minAvailable": "100%"}, {"maxUnavailable": 1}, {"minAvailable": 1}]
            )
            if self.chance(0.4):
                spec["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
            self.objects.append(
                {
                    "apiVersion": "policy/v1",
                    "kind": "PodDisruptionBudget",
                    "metadata": {"name": "more", "namespace": "default"},
                    "spec": spec,
                    "status": {"disruptionsAllowed": random.choice([0, 1, 5])},
                }
            )
        if self.chance(0.25):
            self.add_daemons()

    def add_daemons(self) -> None:
        requests = {"cpu": self.random.choice(["10m", "400m"]), "example.com/gpu": "0"}
        spec: Json = {"containers": [{"name": "c", "image": "x", "resources": {"limits": requests}}]}
        if self.chance(0.5):
            self.add_node_affinity(spec, {})
        if self.chance(0.4):
            spec["tolerations"] = [self.random.choice(TOLERATIONS)]
        labels = {"ds": "more"}
        self.objects.append(
            {
                "apiVersion": "apps/v1",
                "kind": "DaemonSet",
                "metadata": {"name": "more", "namespace": "kube-system", "uid": "more"},
                "spec": {
                    "selector": {"matchLabels": labels},
                    "template": {"metadata": {"labels": labels}, "spec": spec},
                },
            }
        )
