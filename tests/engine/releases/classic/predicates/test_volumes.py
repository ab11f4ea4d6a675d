from __future__ import annotations

import pytest

from kschedweb.engine.releases.classic import Edition
from kschedweb.engine.releases.classic.attached import limit_key
from kschedweb.engine.releases.classic.catalogue import CINDER
from tests.engine.builders import node, pod
from tests.engine.releases.classic.support import ZONE, failure, verdicts

FULL = ["node(s) exceed max volume count"]
CLAIM_REF = {"name": "c", "namespace": "default"}


def ebs(*names: str) -> list[dict]:
    return [{"name": f"v{name}", "awsElasticBlockStore": {"volumeID": name}} for name in names]


def claiming(name: str, *claims: str, on: str = "") -> dict:
    volumes = [{"name": f"v{claim}", "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    return pod(name, on=on, volumes=volumes)


def claim(name: str, volume: str = "", storage_class: str = "wait") -> dict:
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {
            "volumeName": volume,
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": "1Gi"}},
            "accessModes": ["ReadWriteOnce"],
        },
    }


def volume(name: str, labels: dict | None = None, **spec: object) -> dict:
    body = {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "wait", **spec}
    metadata = {"name": name, "labels": labels or {}}
    return {"kind": "PersistentVolume", "metadata": metadata, "spec": body, "status": {"phase": "Available"}}


def storage_class(name: str, mode: str | None = "WaitForFirstConsumer", provisioner: str = "") -> dict:
    raw_class = {"kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner}
    return raw_class if mode is None else raw_class | {"volumeBindingMode": mode}


def on_disk(value: str) -> dict:
    requirement = {"key": "disk", "operator": "In", "values": [value]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}


def test_each_volume_counts_once_a_node_and_one_that_is_there_already_not_again() -> None:
    bound_pods = [pod("b", on="a", volumes=ebs("1", "2")), pod("c", on="a", volumes=ebs("2"))]
    limited_node = node("a", allocatable={"attachable-volumes-aws-ebs": "3"})
    assert verdicts("MaxEBSVolumeCount", pod("p", volumes=ebs("2", "3")), limited_node, *bound_pods) == {}
    assert verdicts("MaxEBSVolumeCount", pod("p", volumes=ebs("3", "4")), limited_node, *bound_pods) == {"a": FULL}


@pytest.mark.parametrize(("labels", "limit"), [({}, 39), ({"beta.kubernetes.io/instance-type": "m5.large"}, 25)])
def test_without_a_word_from_the_node_its_kind_says_how_many_volumes_it_takes(labels: dict, limit: int) -> None:
    names = [str(number) for number in range(limit)]
    bound = pod("b", on="a", volumes=ebs(*names[1:]))
    assert verdicts("MaxEBSVolumeCount", pod("p", volumes=ebs(names[0])), node("a", labels=labels), bound) == {}
    more = pod("p", volumes=ebs(names[0], "another"))
    assert verdicts("MaxEBSVolumeCount", more, node("a", labels=labels), bound) == {"a": FULL}


def test_the_largest_number_can_be_set_for_all_nodes() -> None:
    single_volume = Edition(max_volumes=1)
    assert verdicts("MaxEBSVolumeCount", pod("p", volumes=ebs("1", "2")), node("a"), edition=single_volume) == {
        "a": FULL
    }


def test_a_claim_that_stands_for_nothing_known_counts_against_every_kind() -> None:
    full_node = node("a", allocatable={"attachable-volumes-gce-pd": "0"})
    assert verdicts("MaxGCEPDVolumeCount", claiming("p", "missing"), full_node) == {"a": FULL}
    disk = [claim("c", "v"), volume("v", azureDisk={"diskName": "d", "diskURI": "u"})]
    assert verdicts("MaxGCEPDVolumeCount", claiming("p", "c"), full_node, *disk) == {}
    azure_node = node("a", allocatable={"attachable-volumes-azure-disk": "0"})
    assert verdicts("MaxAzureDiskVolumeCount", claiming("p", "c"), azure_node, *disk) == {"a": FULL}


def test_cinder_volumes_are_counted_where_that_is_switched_on() -> None:
    volumes = [{"name": "v", "cinder": {"volumeID": "1"}}]
    full_node = node("a", allocatable={"attachable-volumes-cinder": "0"})
    assert verdicts(CINDER, pod("p", volumes=volumes), full_node, edition=Edition(gates=frozenset({CINDER}))) == {
        "a": FULL
    }


def test_csi_volumes_are_counted_by_driver_where_the_node_says_how_many_it_takes() -> None:
    driver = "a-driver.with-a-name-so-long-that-it-is-cut.example.com"
    assert limit_key(driver) == "attachable-volumes-csi-a-driver.with-a-name-sod7260ed102412822"
    claims = [claim(f"c{number}", f"v{number}") for number in range(2)]
    volumes = [volume(f"v{number}", csi={"driver": driver, "volumeHandle": f"h{number}"}) for number in range(2)]
    nodes = [node("a", allocatable={limit_key(driver): "1"}), node("b", allocatable={limit_key("other"): "0"})]
    bound = claiming("b", "c0", on="a")
    assert verdicts("MaxCSIVolumeCountPred", claiming("p", "c1"), *nodes, *claims, *volumes, bound) == {"a": FULL}
    assert verdicts("MaxCSIVolumeCountPred", claiming("p", "c0"), *nodes, *claims, *volumes, bound) == {}


def test_a_claim_without_a_name_fails() -> None:
    assert failure("MaxEBSVolumeCount", claiming("p", ""), node("a")) == "PersistentVolumeClaim had no name"


def test_volumes_keep_to_their_zones() -> None:
    nodes = [node(name, labels={ZONE: name}) for name in "ab"] + [node("c")]
    objects = [claim("c", "v"), volume("v", labels={ZONE: "b__c"})]
    reasons_by_node = verdicts("NoVolumeZoneConflict", claiming("p", "c"), *nodes, *objects)
    assert reasons_by_node == {"a": ["node(s) had no available volume zone"]}


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([], 'persistentvolumeclaim "c" not found'),
        ([claim("c")], 'PersistentVolumeClaim is not bound: "c"'),
        ([claim("c", "v")], 'persistentvolume "v" not found'),
        ([claim("c"), storage_class("wait", None)], 'VolumeBindingMode not set for StorageClass "wait"'),
    ],
)
def test_volumes_of_no_known_zone_fail_where_nodes_have_zones(objects: list[dict], message: str) -> None:
    assert failure("NoVolumeZoneConflict", claiming("p", "c"), node("a", labels={ZONE: "a"}), *objects) == message
    assert verdicts("NoVolumeZoneConflict", claiming("p", "c"), node("a"), *objects) == {}


def test_bound_volumes_say_from_where_they_can_be_reached_and_others_are_looked_for() -> None:
    nodes = [node(name, labels={"disk": name}) for name in ("ssd", "hdd")]
    objects = [
        claim("c", "v"),
        volume("v", nodeAffinity=on_disk("ssd"), claimRef=CLAIM_REF),
        claim("d"),
        storage_class("wait"),
    ]
    both = ["node(s) had volume node affinity conflict", "node(s) didn't find available persistent volumes to bind"]
    reasons_by_node = verdicts("CheckVolumeBinding", claiming("p", "c", "d"), *nodes, *objects)
    assert reasons_by_node == {"hdd": both, "ssd": both[1:]}
    free = volume("free", nodeAffinity=on_disk("hdd"))
    reasons_by_node = verdicts("CheckVolumeBinding", claiming("p", "c", "d"), *nodes, *objects, free)
    assert reasons_by_node == {"hdd": both[:1], "ssd": both[1:]}


def test_a_missing_volume_does_not_fail_where_another_cannot_be_reached() -> None:
    bound = volume("v", nodeAffinity=on_disk("ssd"), claimRef=CLAIM_REF)
    objects = [claim("c", "v"), bound, claim("gone", "missing"), claim("d"), storage_class("wait")]
    raw = claiming("p", "c", "gone", "d")
    both = ["node(s) had volume node affinity conflict", "node(s) didn't find available persistent volumes to bind"]
    assert verdicts("CheckVolumeBinding", raw, node("a"), *objects) == {"a": both}
    reached = node("a", labels={"disk": "ssd"})
    assert failure("CheckVolumeBinding", raw, reached, *objects) == 'could not find v1.PersistentVolume "missing"'


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([], 'error getting PVC "default/c": could not find v1.PersistentVolumeClaim "default/c"'),
        ([claim("c", "v")], 'could not find v1.PersistentVolume "v"'),
        ([claim("c")], "pod has unbound immediate PersistentVolumeClaims"),
        ([claim("c"), storage_class("wait", "Immediate")], "pod has unbound immediate PersistentVolumeClaims"),
    ],
)
def test_claims_that_cannot_be_bound_fail(objects: list[dict], message: str) -> None:
    assert failure("CheckVolumeBinding", claiming("p", "c"), node("a"), *objects) == message
