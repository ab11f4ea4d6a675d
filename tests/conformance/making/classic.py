"""Random scenarios for the classic scheduler; the same seed makes the same scenarios.

What kube-scheduler 1.13 left to chance is left out: several services for one serviceAntiAffinity, pods of a service in
several places for one serviceAffinity, volumes of the same size. Fields of pods that came later are left in: they must
change nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.conformance.making.cluster import BETA_REGION, BETA_ZONE, ZONE
from tests.conformance.making.pods import Pods

AVOID = "scheduler.alpha.kubernetes.io/preferAvoidPods"
ZONES = ["a", "b", "c"]
POOL = "pool"
KIND = {"kind": "Policy", "apiVersion": "v1"}
PREDICATES = [
    *("CheckNodeCondition", "GeneralPredicates", "HostName", "PodFitsHostPorts", "PodFitsPorts", "MatchNodeSelector"),
    *("PodFitsResources", "NoDiskConflict", "PodToleratesNodeTaints", "MaxEBSVolumeCount", "MaxGCEPDVolumeCount"),
    *("MaxCSIVolumeCountPred", "MaxAzureDiskVolumeCount", "CheckVolumeBinding", "NoVolumeZoneConflict"),
    *("CheckNodeMemoryPressure", "CheckNodePIDPressure", "CheckNodeDiskPressure", "MatchInterPodAffinity"),
]
PRIORITIES = [
    *("SelectorSpreadPriority", "InterPodAffinityPriority", "LeastRequestedPriority", "BalancedResourceAllocation"),
    *("NodePreferAvoidPodsPriority", "NodeAffinityPriority", "TaintTolerationPriority", "ImageLocalityPriority"),
    *("ServiceSpreadingPriority", "EqualPriority", "MostRequestedPriority", "RequestedToCapacityRatioPriority"),
]
LIMITS = ["attachable-volumes-aws-ebs", "attachable-volumes-gce-pd", "attachable-volumes-azure-disk"]
DRIVERS = ["csi.example.com", "a-driver.with-a-name-so-long-that-it-is-cut.example.com"]
DRIVER_LIMITS = [
    "attachable-volumes-csi-csi.example.com",
    "attachable-volumes-csi-a-driver.with-a-name-sod7260ed102412822",
]
BROKEN = {"matchExpressions": [{"key": "app", "operator": "In", "values": []}]}  # no parser takes it
DISKS = ["awsElasticBlockStore", "gcePersistentDisk", "azureDisk", "cinder", "iscsi", "rbd"]


def terms_of(affinity: dict) -> Iterator[dict]:
    """The terms of pod affinity, without their weights."""
    for kind in ("podAffinity", "podAntiAffinity"):
        for key, terms in affinity.get(kind, {}).items():
            yield from (term["podAffinityTerm"] if key.startswith("preferred") else term for term in terms)


class ClassicMaker(Pods):
    """Makes one scenario after the other from ``random``."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.settled = self.lonely = False
        self.names: list[str] = []
        self.claims: list[dict] = []
        self.sizes: list[int] = []
        # What sets one scenario apart from another: how often pods have volumes, and care for one another.
        self.mounting, self.caring, self.broken, self.breaking = 0.35, 0.2, 0.0, random

    def scenario(self, name: str) -> dict:
        policy = self.policy() if self.maybe(0.8) else None
        self.mounting, self.caring = self.pick([0.05, 0.35, 0.9]), self.pick([0.05, 0.2, 0.6])
        self.breaking = Random(name)  # of its own, so that all else stays as it was
        self.broken = self.breaking.choice([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.4])
        policy_text = json.dumps(policy)
        self.settled, self.lonely = "serviceAffinity" in policy_text, "serviceAntiAffinity" in policy_text
        self.names = [f"n{number:04}" for number in range(self.random.randint(1, 9))]
        self.claims, self.sizes = [], self.random.sample(range(1, 40), 6)
        nodes = [self.node(number) for number in range(len(self.names))]
        bound_count = self.random.randint(0, 3 * len(nodes))
        homes = self.names[: (len(self.names) + 1) // 2] if self.settled else self.names
        bound = [self.pod(f"b{number}", on=self.pick(homes)) for number in range(bound_count)]
        pending = [self.pod(f"p{number}") for number in range(self.random.randint(1, 4))]
        storage_objects = [self.storage_class(class_name) for class_name in ("wait", "made", "now")]
        storage_objects += [self.volume(number) for number in range(len(self.sizes))]
        scenario = {
            "name": name,
            "classic": True,
            "objects": [*self.around(), *storage_objects, *self.claims, *nodes, *bound],
            "pending": pending,
            "mode": "each" if self.settled else self.pick(["each", "sequence"]),
        }
        return scenario if policy is None else scenario | {"policy": policy}

    def around(self) -> list[dict]:
        services = [self.service(number) for number in range(self.random.randint(0, 3))]
        if self.lonely:
            services = list({service["metadata"]["namespace"]: service for service in services}.values())
        kinds = self.some(["ReplicaSet", "StatefulSet", "ReplicationController"])
        return [*services, *(self.controller(kind) for kind in kinds)]

    def policy(self) -> dict:
        policy: dict[str, Any] = dict(KIND)
        if self.maybe(0.7):
            plain_rules = [{"name": name} for name in self.some(PREDICATES, len(PREDICATES))]
            policy["predicates"] = [*plain_rules, *self.argued_predicates()]
        if self.maybe(0.7):
            plain_rules = [{"name": name, "weight": self.weight()} for name in self.some(PRIORITIES, len(PRIORITIES))]
            policy["priorities"] = [*plain_rules, *self.argued_priorities()]
        if self.maybe(0.3):
            policy["hardPodAffinitySymmetricWeight"] = self.pick([1, 5, 50, 100])
        if self.maybe(0.3):
            policy["alwaysCheckAllPredicates"] = self.maybe(0.7)
        if self.maybe(0.04):
            policy |= self.mistake()
        return policy

    def weight(self) -> int:
        return self.pick([1, 1, 1, 2, 3, 10, 10000])

    def argued_predicates(self) -> list[dict]:
        presence = {"labels": self.some(["disk", "gen", "none"], 2, 1), "presence": self.maybe(0.5)}
        predicates = [
            {
                "name": self.pick(["CheckNodeLabelPresence", "RequireDisk", "HostName"]),
                "argument": {"labelsPresence": presence},
            },
            {"name": "CheckServiceAffinity", "argument": {"serviceAffinity": {"labels": [POOL]}}},
        ]
        return [predicate for predicate in predicates if self.maybe(0.25)]

    def argued_priorities(self) -> list[dict]:
        label = {"label": self.pick(["disk", "gen", "none"]), "presence": self.maybe(0.5)}
        priorities: list[tuple[str, dict]] = [
            ("LikeSsd", {"labelPreference": label}),
            ("ZoneSpread", {"serviceAntiAffinity": {"label": self.pick([BETA_ZONE, "disk"])}}),
            ("Ratio", {"requestedToCapacityRatioArguments": {"shape": self.shape()}}),
        ]
        return [
            {"name": name, "weight": self.weight(), "argument": argument}
            for name, argument in priorities
            if self.maybe(0.3)
        ]

    def shape(self) -> list[dict]:
        places = sorted(self.random.sample(range(101), self.random.randint(1, 4)))
        return [{"utilization": place, "score": self.random.randint(0, 10)} for place in places]

    def mistake(self) -> dict:
        return self.pick([
            {"predicates": [{"name": "Nobody"}]},
            {"priorities": [{"name": "Nobody", "weight": 1}]},
            {"priorities": [{"name": "EqualPriority"}]},
            {"priorities": [{"name": "EqualPriority", "weight": -1}]},
            {"predicates": [{"name": "HostName", "argument": {}}]},
            {"kind": "Polity"},
        ])  # fmt: skip

    def node(self, number: int) -> dict:
        node = super().node(number)
        metadata, status = node["metadata"], node["status"]
        labels = metadata.setdefault("labels", {})
        labels[POOL] = "east" if number < (len(self.names) + 1) // 2 else "west"
        if self.maybe(0.6):
            labels[BETA_ZONE] = self.pick([*ZONES, ""])
        if self.maybe(0.2):
            labels["beta.kubernetes.io/instance-type"] = self.pick(["m5.large", "t2.micro", "t3.nano"])
        status["conditions"] = self.conditions()
        for name in self.some([*LIMITS, *DRIVER_LIMITS], 3):
            status.setdefault("allocatable", {})[name] = self.pick(["0", "1", "2", "3"])
        if self.maybe(0.15):
            metadata["annotations"] = {AVOID: self.avoided()}
        return node

    def conditions(self) -> list[dict]:
        conditions = [{"type": "Ready", "status": self.pick(["True"] * 14 + ["False", "Unknown"])}]
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "OutOfDisk", "NetworkUnavailable"):
            if self.maybe(0.4):
                conditions.append({"type": kind, "status": self.pick(["False"] * 5 + ["True", "Unknown"])})
        return self.random.sample(conditions, len(conditions))

    def avoided(self) -> str:
        owner = {"apiVersion": "v1", "kind": self.pick(["ReplicaSet", "ReplicationController", "Job"]), "uid": "u"}
        entries = [{"podSignature": {"podController": owner}}]
        return self.pick([json.dumps({"preferAvoidPods": entries})] * 6 + ["", "{}", "not JSON"])

    def pod(self, name: str, on: str = "") -> dict:
        pod = super().pod(name, on)
        if self.maybe(self.mounting):
            space = pod["metadata"]["namespace"]
            sources = [self.source(space, f"{name}-{number}") for number in range(self.pick([1, 1, 2, 3]))]
            pod["spec"]["volumes"] = [{"name": f"v{number}", **source} for number, source in enumerate(sources)]
        return pod

    def affinity(self, chance: float | None = None) -> dict:
        affinity = super().affinity(self.caring if chance is None else chance)
        for term in terms_of(affinity):
            if self.breaking.random() < self.broken:
                term["labelSelector"] = BROKEN
        return affinity

    def source(self, namespace: str, name: str) -> dict:
        if self.maybe(0.5):
            return self.disk(f"d{self.random.randrange(4)}")
        if self.maybe(0.06):
            return {"persistentVolumeClaim": {"claimName": self.pick(["missing", "missing", ""])}}
        self.claims.append(self.claim(namespace, name))
        return {"persistentVolumeClaim": {"claimName": name}}

    def disk(self, name: str) -> dict:
        kind = self.pick(DISKS)
        only = {"readOnly": True} if self.maybe(0.4) else {}
        return {
            kind: {
                "awsElasticBlockStore": {"volumeID": name},
                "gcePersistentDisk": {"pdName": name} | only,
                "azureDisk": {"diskName": name, "diskURI": f"uri-{name}"},
                "cinder": {"volumeID": name},
                "iscsi": {"iqn": name, "targetPortal": "t", "lun": self.random.randrange(2)} | only,
                "rbd": {"image": name, "monitors": self.some(["m1", "m2", "m3"], 2, 1)} | only,
            }[kind]
        }

    def claim(self, namespace: str, name: str) -> dict:
        spec: dict[str, Any] = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": f"{self.random.randint(1, 30)}Gi"}},
            "storageClassName": self.pick(["wait", "wait", "wait", "made", "now", "gone", ""]),
        }
        metadata: dict[str, Any] = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
        if self.maybe(0.6):
            spec["volumeName"] = f"v{self.random.randrange(7)}"
            if self.maybe(0.9):
                metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        if self.maybe(0.1):
            spec["selector"] = {"matchLabels": {"disk": "ssd"}}
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}

    def volume(self, number: int) -> dict:
        labels = {"disk": self.pick(["ssd", "hdd"])} if self.maybe(0.5) else {}
        for key, values in ((BETA_ZONE, ZONES), (BETA_REGION, ["r1", "r2"]), (ZONE, ZONES)):
            if self.maybe(0.25):
                labels[key] = self.pick(["__".join(self.some(values, 3, 1))] * 8 + ["", "a__"])
        spec: dict[str, Any] = {
            "capacity": {"storage": f"{self.sizes[number]}Gi"},
            "accessModes": self.some(["ReadWriteOnce", "ReadOnlyMany"], 2, 1),
            "storageClassName": self.pick(["wait", "wait", "made", ""]),
        }
        if self.maybe(0.3):
            spec["csi"] = {"driver": self.pick(DRIVERS), "volumeHandle": f"h{number}"}
        else:
            spec |= self.disk(f"d{self.random.randrange(6)}")
        if self.maybe(0.4):
            requirement = self.expression(*self.pick([("disk", ["ssd"]), (BETA_ZONE, ["a", "b"])]))
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"v{number}", "labels": labels},
            "spec": spec,
            "status": {"phase": self.pick(["Available", "Available", "Bound"])},
        }

    def storage_class(self, name: str) -> dict:
        storage_class: dict[str, Any] = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": "csi.example.com" if name == "made" else "kubernetes.io/no-provisioner",
            "volumeBindingMode": "Immediate" if name == "now" else "WaitForFirstConsumer",
        }
        if self.maybe(0.03):
            del storage_class["volumeBindingMode"]
        if self.maybe(0.3):
            terms = [{"key": BETA_ZONE, "values": self.some(ZONES, 2, 1)}]
            storage_class["allowedTopologies"] = [{"matchLabelExpressions": terms}]
        return storage_class
