"""Random scenarios over volumes; the same seed makes the same scenarios.

kube-scheduler goes through volumes in no fixed order, so no two of one scenario have the same size, and no two are
reserved for the same claim: then the order changes nothing.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.conformance.making.chance import Chance

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
ZONES, REGIONS = ["us-east1-a", "us-east1-b", "us-west2-a", "za"], ["us-east1", "us-west2"]
NAMESPACES = ["default", "default", "default", "prod"]
DRIVER = "csi.example.com"
MIGRATED = {
    "awsElasticBlockStore": ("kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"),
    "gcePersistentDisk": ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"),
    "azureDisk": ("kubernetes.io/azure-disk", "disk.csi.azure.com", "topology.disk.csi.azure.com/zone"),
    "cinder": ("kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"),
    "portworxVolume": ("kubernetes.io/portworx-volume", "pxd.portworx.com", "none"),
}
PROVISIONERS = [
    *[DRIVER] * 6, "kubernetes.io/no-provisioner", "kubernetes.io/no-provisioner", "", "kubernetes.io/vsphere-volume",
    *[plugin for plugin, _, _ in MIGRATED.values()],
]  # fmt: skip
CLASSES = ["wait", "wait", "local", "made", "now", "gone", ""]
PLUGINS = ["VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"]
MODES = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"]
SIZES = ["1Gi", "5Gi", "5368709121", "10Gi", "1500M", "0.5", "20Gi"]
CLAIMS, VOLUMES = 9, 7


class VolumeMaker(Chance):
    """Makes one scenario after the other from ``random``."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.capacities: list[int] = []
        self.reserved: set[str] = set()
        # What sets one scenario apart from another.
        self.classes = CLASSES
        self.bound = self.claimed = 0.5

    def scenario(self, name: str) -> dict:
        count = self.random.randint(1, 6)
        self.capacities = self.random.sample(range(1, 24), VOLUMES)
        self.reserved = set()
        self.classes = self.pick([CLASSES, CLASSES, ["local"], ["wait", "local", "made"]])
        self.bound = self.pick([0.45, 0.45, 0.05, 0.95])
        self.claimed = self.pick([0.6, 0.9, 0.1])
        names = [f"n{number}" for number in range(count)]
        objects = [self.node(node) for node in names]
        objects += [self.csi_node(node) for node in names if self.maybe(0.75)]
        objects += [self.storage_class(item) for item in ("wait", "local", "made", "now")]
        objects += [self.volume(number) for number in range(VOLUMES)]
        objects += [self.claim(f"c{number}", "default") for number in range(CLAIMS)]
        objects += [self.claim(f"c{number}", "prod") for number in range(CLAIMS) if self.maybe(0.7)]
        objects += [self.driver()] if self.maybe(0.6) else []
        objects += [self.capacity(number) for number in range(self.random.randint(0, 4))]
        objects += [self.attachment(number, self.pick(names)) for number in range(self.random.randint(0, 4))]
        for number in range(self.random.randint(0, 3 * count)):
            objects += self.pod(f"b{number}", on=self.pick(names))
        pods = [self.pod(f"p{number}") for number in range(self.random.choice([1, 2, 3, 4, 12]))]
        if self.maybe(0.3):
            pods += [[self.sharing_pod(self.pick(pods)[0], f"q{number}")] for number in range(8)]
        return {
            "name": name,
            "config": self.config(),
            "objects": objects + [claim for _, *claims in pods for claim in claims],
            "pending": [pod for pod, *_ in pods],
            "mode": self.pick(["each", "sequence"]),
        }

    def config(self) -> dict:
        plugins: dict[str, Any] = {}
        if self.maybe(0.35):
            plugins["multiPoint"] = {"disabled": [{"name": name} for name in self.some(PLUGINS, maximum=3, minimum=1)]}
        elif self.maybe(0.15):
            plugins["preFilter"] = {"disabled": [{"name": name} for name in self.some(PLUGINS, maximum=3, minimum=1)]}
        return {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "parallelism": 1,
            "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}],
        }

    def node(self, name: str) -> dict:
        labels = {"kubernetes.io/hostname": name, "disk": self.pick(["ssd", "hdd"])}
        if self.maybe(0.8):
            labels[self.pick([ZONE, ZONE, BETA_ZONE])] = zone = self.pick(ZONES)
            labels |= {topology: zone for _, _, topology in MIGRATED.values() if self.maybe(0.6)}
        if self.maybe(0.4):
            labels[self.pick([REGION, REGION, BETA_REGION])] = self.pick(REGIONS)
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": self.pick(["110", "110", "3"])}},
        }

    def csi_node(self, name: str) -> dict:
        drivers = []
        for driver in self.some(
            [DRIVER, DRIVER, *[driver for _, driver, _ in MIGRATED.values()]], maximum=4, minimum=0
        ):
            item: dict[str, Any] = {"name": driver, "nodeID": name, "topologyKeys": None}
            if self.maybe(0.8):
                item["allocatable"] = {"count": self.random.randint(0, 4)} if self.maybe(0.9) else {}
            drivers.append(item)
        plugins = [plugin for plugin, _, _ in MIGRATED.values() if self.maybe(0.7)]
        annotations = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(plugins)} if self.maybe(0.7) else {}
        return {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"drivers": drivers},
        }

    def storage_class(self, name: str) -> dict:
        provisioner = {"local": "kubernetes.io/no-provisioner", "made": DRIVER}.get(name) or self.pick(PROVISIONERS)
        storage_class: dict[str, Any] = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": provisioner,
            "volumeBindingMode": "Immediate" if name == "now" else "WaitForFirstConsumer",
        }
        if self.maybe(0.03):
            del storage_class["volumeBindingMode"]
        if self.maybe(0.3):
            storage_class["allowedTopologies"] = [self.topology() for _ in range(self.random.randint(0, 2))]
        return storage_class

    def topology(self) -> dict:
        if self.maybe(0.08):
            return {}
        requirements = [
            {"key": ZONE, "values": self.some(ZONES, maximum=3, minimum=1)},
            {"key": "disk", "values": self.some(["ssd"], maximum=1, minimum=0)},
        ]
        return {"matchLabelExpressions": self.some(requirements, maximum=2, minimum=1)}

    def volume(self, number: int) -> dict:
        metadata: dict[str, Any] = {"name": f"v{number}", "labels": self.volume_labels(), "annotations": {}}
        spec: dict[str, Any] = {
            "capacity": {"storage": f"{self.capacities[number]}Gi"},
            "accessModes": self.some(MODES, maximum=3, minimum=1),
        }
        if self.maybe(0.85):
            spec["storageClassName"] = self.pick(self.classes)
        if self.maybe(0.1):
            metadata["annotations"][BETA_CLASS] = self.pick(CLASSES)
        if self.maybe(0.15):
            spec["volumeMode"] = self.pick(["Block", "Filesystem"])
        if self.maybe(0.12):
            spec["volumeAttributesClassName"] = self.pick(["gold", ""])
        if self.maybe(0.06):
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        if self.maybe(0.5):
            spec["nodeAffinity"] = self.volume_affinity()
        if self.maybe(0.25):
            self.reserve(spec)
        spec |= self.source(f"v{number}")
        status = {"phase": self.pick(["Available", "Available", "Available", "Bound", ""])}
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": metadata,
            "spec": spec,
            "status": status,
        }

    def volume_labels(self) -> dict:
        labels = {"disk": self.pick(["ssd", "hdd"])} if self.maybe(0.5) else {}
        for key, values in ((ZONE, ZONES), (BETA_ZONE, ZONES), (REGION, REGIONS), (BETA_REGION, REGIONS)):
            if self.maybe(0.2):
                labels[key] = self.pick(
                    ["__", " __ ", ""] if self.maybe(0.06) else ["__".join(self.some(values, maximum=3, minimum=1))]
                )
        return labels

    def volume_affinity(self) -> dict:
        if self.maybe(0.06):
            return self.pick([{}, {"required": {"nodeSelectorTerms": []}}, {"required": {"nodeSelectorTerms": [{}]}}])
        return {"required": {"nodeSelectorTerms": [self.volume_term() for _ in range(self.pick([1, 1, 2]))]}}

    def volume_term(self) -> dict:
        if self.maybe(0.06):
            return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]}
        key = self.pick([ZONE, ZONE, BETA_ZONE, BETA_REGION, "disk", "kubernetes.io/hostname"])
        values = {"disk": ["ssd", "hdd"], "kubernetes.io/hostname": ["n0", "n1", "n2"], BETA_REGION: REGIONS}
        condition: dict[str, Any] = {"key": key, "operator": self.pick(["In", "In", "In", "NotIn"])}
        condition["values"] = self.some(values.get(key, ZONES), maximum=3, minimum=1)
        if self.maybe(0.05):
            condition = {"key": key, "operator": self.pick(["Exists", "DoesNotExist", "Wrong"])}
        term: dict[str, Any] = {"matchExpressions": [condition]}
        if self.maybe(0.05):
            term["matchFields"] = [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]
        return term

    def reserve(self, spec: dict[str, Any]) -> None:
        name = f"c{self.random.randrange(CLAIMS)}"
        if name not in self.reserved:
            self.reserved.add(name)
            spec["claimRef"] = {"namespace": self.pick(NAMESPACES), "name": name}
            if self.maybe(0.4):
                spec["claimRef"]["uid"] = self.pick([f"uid-{name}", f"uid-{name}", "uid-of-another"])

    def source(self, handle: str) -> dict:
        """Draw the source of a PersistentVolume's bytes."""
        if self.maybe(0.55):
            return {"csi": {"driver": self.pick([DRIVER, DRIVER, "ebs.csi.aws.com"]), "volumeHandle": handle}}
        if self.maybe(0.2):
            return {"local": {"path": "/mnt"}}
        return self.in_tree(handle)

    def in_tree(self, identity: str) -> dict:
        field = self.pick(MIGRATED)
        if field == "awsElasticBlockStore":
            forms = [identity, f"aws://us-east1-a/vol-{identity}", f"aws:///vol-{identity}", f"aws://a/{identity}"]
            return {field: {"volumeID": self.pick(forms)}}
        if field == "gcePersistentDisk":
            return {field: {"pdName": identity} | ({"readOnly": True} if self.maybe(0.5) else {})}
        if field == "azureDisk":
            kind = {"kind": self.pick(["Managed", "Managed", "managed", "Dedicated"])} if self.maybe(0.9) else {}
            return {field: {"diskName": identity, "diskURI": identity} | kind}
        return {field: {"volumeID": identity}}

    def claim(self, name: str, namespace: str) -> dict:
        metadata: dict[str, Any] = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
        spec: dict[str, Any] = {"accessModes": self.some(MODES, maximum=1, minimum=1)}
        metadata["annotations"] = self.bind(spec)
        if self.maybe(0.9):
            spec["resources"] = {"requests": {"storage": self.pick(SIZES)}}
        if self.maybe(0.9):
            spec["storageClassName"] = self.pick(self.classes[: self.pick([4, 4, 7])])
        if self.maybe(0.06):
            metadata["annotations"][BETA_CLASS] = self.pick(CLASSES)
        if self.maybe(0.1):
            spec["volumeMode"] = self.pick(["Block", "Filesystem"])
        if self.maybe(0.1):
            spec["volumeAttributesClassName"] = self.pick(["gold", ""])
        if self.maybe(0.15):
            spec["selector"] = self.pick([{}, {"matchLabels": {"disk": "ssd"}}, self.claim_selector()])
        if self.maybe(0.03):
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        phase = "Lost" if self.maybe(0.03) else "Bound" if "volumeName" in spec else "Pending"
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": spec,
            "status": {"phase": phase},
        }

    def bind(self, spec: dict[str, Any]) -> dict[str, str]:
        """Bind a claim, or choose a node for it, or do neither; returns its annotations."""
        if self.maybe(self.bound):
            spec["volumeName"] = self.pick([f"v{number}" for number in range(VOLUMES)] if self.maybe(0.9) else ["none"])
            return {"pv.kubernetes.io/bind-completed": "yes"} if self.maybe(0.95) else {}
        if self.maybe(0.12):
            return {"volume.kubernetes.io/selected-node": self.pick(["n0", "n1", "n9"])}
        return {}

    def claim_selector(self) -> dict:
        operator = self.pick(["In", "NotIn", "Exists", "DoesNotExist"])
        values = {"values": ["ssd"]} if operator in ("In", "NotIn") else {}
        return {"matchExpressions": [{"key": self.pick(["disk", ZONE]), "operator": operator, **values}]}

    def driver(self) -> dict:
        spec = self.pick([{"storageCapacity": True}, {"storageCapacity": True}, {"storageCapacity": False}, {}])
        return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": spec}

    def capacity(self, number: int) -> dict:
        capacity: dict[str, Any] = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIStorageCapacity",
            "metadata": {"name": f"s{number}", "namespace": "default"},
            "storageClassName": self.pick(["wait", "made", "made"]),
        }
        topologies = [{}, {"matchLabels": {"disk": "ssd"}}, {"matchExpressions": [{"key": ZONE, "operator": "Exists"}]}]
        if self.maybe(0.9):
            capacity["nodeTopology"] = self.pick(topologies)
        if self.maybe(0.9):
            capacity["capacity"] = self.pick(SIZES)
        if self.maybe(0.3):
            capacity["maximumVolumeSize"] = self.pick(SIZES)
        return capacity

    def attachment(self, number: int, node: str) -> dict:
        source = {"persistentVolumeName": f"v{self.random.randrange(VOLUMES + 1)}"} if self.maybe(0.9) else {}
        spec = {"attacher": self.pick([DRIVER, DRIVER, "ebs.csi.aws.com", ""]), "nodeName": node, "source": source}
        metadata = {"name": f"a{number}"}
        return {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": metadata, "spec": spec}

    def pod(self, name: str, on: str = "") -> list[dict]:
        """A pod, and the claims made for its ephemeral volumes."""
        namespace = self.pick(NAMESPACES)
        metadata: dict[str, Any] = {"name": name, "namespace": namespace}
        if self.maybe(0.7):
            metadata["uid"] = f"uid-{name}"
        volumes, new_claims = [], []
        for number in range(self.random.choice([0, 1, 1, 1, 2, 2, 3])):
            volume = {"name": f"d{number}"} | self.pod_source()
            volumes.append(volume)
            if "ephemeral" in volume and self.maybe(0.9):
                new_claims.append(self.ephemeral_claim(f"{name}-d{number}", metadata))
        spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "volumes": volumes}
        spec["preemptionPolicy"] = "Never"  # a filter that fails while the oracle looks for victims ends the oracle
        if on:
            spec["nodeName"] = on
        return [{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, *new_claims]

    @staticmethod
    def sharing_pod(pod: dict, name: str) -> dict:
        """Another pod that uses what ``pod`` uses, but for what was made for that one alone."""
        volumes = [volume for volume in pod["spec"]["volumes"] if "ephemeral" not in volume]
        metadata = {"name": name, "namespace": pod["metadata"]["namespace"]}
        return pod | {"metadata": metadata, "spec": pod["spec"] | {"volumes": volumes}}

    def pod_source(self) -> dict:
        if self.maybe(self.claimed):
            name = f"c{self.random.randrange(CLAIMS)}" if self.maybe(0.97) else self.pick(["none", ""])
            return {"persistentVolumeClaim": {"claimName": name}}
        if self.maybe(0.3):
            return {"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}}
        if self.maybe(0.4):
            return self.in_tree(self.pick(["x", "y"]))
        if self.maybe(0.4):
            iscsi = {"targetPortal": "t", "lun": 0, "iqn": self.pick(["i1", "i2"]), "readOnly": self.maybe(0.5)}
            return {"iscsi": iscsi}
        if self.maybe(0.6):
            pool = {"pool": self.pick(["rbd", "fast"])} if self.maybe(0.6) else {}
            rbd = {
                "monitors": self.some(["a", "b", "c"], maximum=2, minimum=0),
                "image": "im",
                "readOnly": self.maybe(0.4),
            }
            return {"rbd": rbd | pool}
        other_sources = [
            {"emptyDir": {}},
            {"azureFile": {"secretName": "s", "shareName": "s"}},
            {"csi": {"driver": DRIVER}},
        ]
        return self.pick([*other_sources, {"vsphereVolume": {"volumePath": "p"}}, {"configMap": {"name": "m"}}])

    def ephemeral_claim(self, name: str, pod: dict[str, Any]) -> dict:
        claim = self.claim(name, pod["namespace"])
        owner = pod.get("uid") or f"{pod['namespace']}/{pod['name']}"
        if self.maybe(0.06):
            owner = "uid-of-another"
        reference = {"apiVersion": "v1", "kind": "Pod", "name": pod["name"], "uid": owner}
        claim["metadata"]["ownerReferences"] = [reference | ({"controller": True} if self.maybe(0.95) else {})]
        return claim
