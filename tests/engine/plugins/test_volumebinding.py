"""VolumeBinding: where the pod's volumes are, or can be found or made."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.framework.events import (
    CSI_DRIVER,
    CSI_NODE,
    STORAGE_CAPACITY,
    STORAGE_CLASS,
    VOLUME,
    VOLUME_CLAIM,
    Action,
    ClusterEvent,
)
from kschedweb.engine.framework.status import CycleError
from tests.engine.builders import NEVER, explain, list_refusals, node, pod, raw_scores, scheduler
from tests.engine.storage import (
    BETA_REGION,
    BETA_ZONE,
    DRIVER,
    EBS,
    NO_ACCESS,
    NO_VOLUME,
    REGION,
    ZONE,
    claim,
    csi_node,
    make_object,
    on_nodes,
    storage_class,
    user,
    volume,
)
from tests.engine.waking import raw_object, wakes, wakes_on_node_add, wakes_on_node_update

NAME = "VolumeBinding"
NO_SPACE = "node(s) did not have enough free storage"


def before_filtering(*objects: dict, wanting: dict | None = None) -> str:
    """The words with which a pod of claim ``c`` is refused before any node is looked at."""
    answer = explain(wanting or user("p", "c"), node("a"), *objects)
    assert answer["preFilter"]["plugin"] == NAME
    assert answer["preFilter"]["code"] == NEVER
    return ", ".join(answer["preFilter"]["reasons"])


def test_a_claim_that_is_not_fit_for_use_refuses_the_pod() -> None:
    lost = {**claim("c", volume="v"), "status": {"phase": "Lost"}}
    assert before_filtering(lost) == 'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"'
    leaving = claim("c", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert before_filtering(leaving) == 'persistentvolumeclaim "c" is being deleted'
    generic = pod("p", volumes=[{"name": "v", "ephemeral": {}}])
    waiting = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"'
    assert before_filtering(wanting=generic) == waiting


def test_a_claim_that_should_be_bound_by_now_refuses_the_pod() -> None:
    immediate = storage_class(volumeBindingMode="Immediate")
    assert before_filtering(immediate, claim("c")) == "pod has unbound immediate PersistentVolumeClaims"
    volume_claim = claim("c", volume="v")
    del volume_claim["metadata"]["annotations"]
    assert before_filtering(storage_class(), volume_claim) == "pod has unbound immediate PersistentVolumeClaims"


def test_a_bound_volume_is_where_its_affinity_says() -> None:
    bound = [claim("c", volume="v"), volume("v", nodeAffinity=on_nodes("disk", "ssd"))]
    answer = explain(user("p", "c"), node("a"), node("b", labels={"disk": "ssd"}), *bound)
    assert list_refusals(answer, NAME) == {"a": (NEVER, NO_ACCESS)}


def test_a_volume_is_made_where_its_class_allows_and_on_the_node_the_claim_names() -> None:
    zone = [{"matchLabelExpressions": [{"key": ZONE, "values": ["one", "two"]}]}]
    made_here = storage_class(provisioner=DRIVER, allowedTopologies=zone)
    nodes = [node("a", labels={ZONE: "one"}), node("b", labels={ZONE: "two"}), node("c", labels={ZONE: "three"})]
    assert list_refusals(explain(user("p", "c"), *nodes, made_here, claim("c")), NAME) == {"c": (NEVER, NO_VOLUME)}
    chosen = claim("c", metadata={"annotations": {"volume.kubernetes.io/selected-node": "b"}})
    answer = explain(user("p", "c"), *nodes, made_here, chosen)
    assert list_refusals(answer, NAME) == {"a": (NEVER, NO_VOLUME), "c": (NEVER, NO_VOLUME)}


def test_each_claim_takes_the_smallest_volume_that_suits_it() -> None:
    objects = [node("a"), storage_class(), volume("big", "10Gi"), volume("small", "2Gi"), claim("c")]
    assert explain(user("p", "d", "c"), *objects, claim("d", "5Gi"))["feasible"] == ["a"]
    assert list_refusals(explain(user("p", "d", "c"), *objects, claim("d", "20Gi")), NAME) == {"a": (NEVER, NO_VOLUME)}


@pytest.mark.parametrize(
    "unfit",
    [
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"volumeMode": "Block"},
        {"accessModes": ["ReadOnlyMany"]},
        {"volumeAttributesClassName": "gold"},
        {"claimRef": {"namespace": "default", "name": "other"}},
        {"claimRef": {"namespace": "default", "name": "c", "uid": "uid-of-another"}},
        {"storageClassName": "other"},
        {"capacity": {"storage": "1Mi"}},
    ],
)
def test_an_unfit_volume_is_not_taken(unfit: dict) -> None:
    answer = explain(user("p", "c"), node("a"), storage_class(), claim("c"), volume("v", **unfit))
    assert list_refusals(answer, NAME) == {"a": (NEVER, NO_VOLUME)}


def test_a_volume_reserved_for_the_claim_decides_even_where_it_cannot_be_reached() -> None:
    reference = {"namespace": "default", "name": "c"}
    reserved = volume("r", claimRef=reference, nodeAffinity=on_nodes("kubernetes.io/hostname", "a"))
    objects = [node("a"), node("b"), storage_class(), claim("c"), volume("free"), reserved]
    assert list_refusals(explain(user("p", "c"), *objects), NAME) == {"b": (NEVER, NO_VOLUME)}


def test_a_claim_used_twice_takes_two_volumes() -> None:
    objects = [node("a"), storage_class(), claim("c")]
    reserved = volume("r", claimRef={"namespace": "default", "name": "c"})
    assert list_refusals(explain(user("p", "c", "c"), *objects, reserved), NAME) == {"a": (NEVER, NO_VOLUME)}
    assert explain(user("p", "c", "c"), *objects, reserved, volume("free"))["feasible"] == ["a"]


def test_conditions_on_fields_in_a_volumes_affinity_always_hold() -> None:
    field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["other"]}]}
    affinity = {"required": {"nodeSelectorTerms": [field]}}
    bound = [claim("c", volume="v"), volume("v", nodeAffinity=affinity)]
    assert explain(user("p", "c"), node("a"), *bound)["feasible"] == ["a"]


def test_the_largest_volume_counts_before_the_capacity_left_and_bytes_are_rounded_up() -> None:
    driver = make_object("CSIDriver", DRIVER, version="storage.k8s.io/v1", spec={"storageCapacity": True})
    capacity = {"storageClassName": "local", "nodeTopology": {}, "capacity": "10Gi", "maximumVolumeSize": "0.5"}
    storage_capacity = make_object(
        "CSIStorageCapacity", "s", version="storage.k8s.io/v1", metadata={"namespace": "default"}, **capacity
    )
    objects = [node("a"), storage_class(provisioner=DRIVER), driver, storage_capacity]
    assert explain(user("p", "c"), *objects, claim("c", "1"))["feasible"] == ["a"]
    assert list_refusals(explain(user("p", "c"), *objects, claim("c", "2")), NAME) == {"a": (NEVER, NO_SPACE)}


def test_a_capacity_that_is_not_said_ends_kube_scheduler_where_it_would_be_scored() -> None:
    driver = make_object("CSIDriver", DRIVER, version="storage.k8s.io/v1", spec={"storageCapacity": True})
    capacity = {"storageClassName": "local", "nodeTopology": {}, "maximumVolumeSize": "5Gi"}
    storage_capacity = make_object(
        "CSIStorageCapacity", "s", version="storage.k8s.io/v1", metadata={"namespace": "default"}, **capacity
    )
    objects = [node("a"), storage_class(provisioner=DRIVER), driver, storage_capacity]
    with pytest.raises(CycleError, match="has a maximumVolumeSize and no capacity"):
        explain(user("p", "c"), *objects, claim("c", "1"))
    assert list_refusals(explain(user("p", "c"), *objects, claim("c", "6Gi")), NAME) == {"a": (NEVER, NO_SPACE)}


def test_the_first_claim_that_gets_no_volume_ends_the_search() -> None:
    driver = make_object("CSIDriver", DRIVER, version="storage.k8s.io/v1", spec={"storageCapacity": True})
    objects = [node("a"), storage_class(), storage_class("made", DRIVER), driver]
    objects += [claim("c", "1Gi"), claim("d", "2Gi", storageClassName="made")]
    assert list_refusals(explain(user("p", "d", "c"), *objects), NAME) == {"a": (NEVER, NO_VOLUME)}
    objects[-1] = claim("d", "500Mi", storageClassName="made")
    assert list_refusals(explain(user("p", "d", "c"), *objects), NAME) == {"a": (NEVER, NO_SPACE)}


def test_reasons_about_bound_and_unbound_claims_come_together() -> None:
    bound = [claim("c", volume="v"), volume("v", nodeAffinity=on_nodes("disk", "ssd"))]
    answer = explain(user("p", "c", "d"), node("a"), storage_class(), *bound, claim("d"))
    assert list_refusals(answer, NAME) == {"a": (NEVER, NO_ACCESS, NO_VOLUME)}


def test_a_volume_its_driver_cannot_take_over_fails_the_filter_unless_another_one_rejects_first() -> None:
    migrated = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/azure-disk"}
    disk = volume("v", azureDisk={"diskName": "d", "diskURI": "d", "kind": "Dedicated"})
    elsewhere = volume("w", nodeAffinity=on_nodes("disk", "ssd"))
    objects = [node("a"), csi_node("a", migrated), disk, elsewhere, claim("c", volume="v"), claim("d", volume="w")]
    failed = ("Error", "could not translate pv: kind(Dedicated) is not supported in csi migration")
    assert list_refusals(explain(user("p", "c", "d"), *objects), NAME) == {"a": failed}
    assert list_refusals(explain(user("p", "d", "c"), *objects), NAME) == {"a": (NEVER, NO_ACCESS)}


def test_a_drivers_zone_label_takes_the_place_of_the_old_ones() -> None:
    migrated = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
    term = (
        {"key": BETA_ZONE, "operator": "In", "values": ["za"]},
        {"key": BETA_REGION, "operator": "In", "values": ["r"]},
    )
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": list(term)}]}}
    bound = [claim("c", volume="v"), volume("v", awsElasticBlockStore={"volumeID": "x"}, nodeAffinity=affinity)]
    new = node("new", labels={f"topology.{EBS}/zone": "za", REGION: "r"})
    old = node("old", labels={BETA_ZONE: "za", BETA_REGION: "r"})
    answer = explain(user("p", "c"), new, old, csi_node("new", migrated), *bound)
    assert answer["feasible"] == ["new", "old"]
    swapped = explain(user("p", "c"), new, old, csi_node("old", migrated), *bound)
    assert list_refusals(swapped, NAME) == {"new": (NEVER, NO_ACCESS), "old": (NEVER, NO_ACCESS)}


def test_a_storage_class_that_does_not_say_when_it_binds_ends_the_cycle() -> None:
    answer = explain(user("p", "c"), node("a"), storage_class(volumeBindingMode=None), claim("c"))
    message = 'running PreFilter plugin "VolumeBinding": VolumeBindingMode not set for StorageClass "local"'
    assert (answer["preFilter"]["code"], answer["message"]) == ("Error", message)


def test_a_claim_that_cannot_be_understood_is_a_problem_not_a_failure() -> None:
    engine = scheduler(node("a"), claim("c", accessModes="ReadWriteOnce"))
    assert engine.snapshot.problems == [
        ("PersistentVolumeClaim default/c", "spec.accessModes: must be a list, is a string")
    ]


def test_a_filter_without_its_pre_filter_is_an_error() -> None:
    profile = {"plugins": {"preFilter": {"disabled": [{"name": NAME}]}}}
    assert list_refusals(explain(pod("p"), node("a"), **profile), NAME) == {"a": ("Error", "not found")}


CLAIMED, EPHEMERAL = user("p", "c"), pod("p", volumes=[{"name": "v", "ephemeral": {}}])


def capacity(size: str | None) -> dict:
    return raw_object(storageClassName="s", **({} if size is None else {"capacity": size}))


def driver(reports: bool) -> dict:
    return raw_object("d", spec={"storageCapacity": reports})


def test_a_claim_of_its_own_wakes() -> None:
    added, updated = ClusterEvent(VOLUME_CLAIM, Action.ADD), ClusterEvent(VOLUME_CLAIM, Action.UPDATE)
    assert wakes(NAME, CLAIMED, added, None, raw_object("c"))
    assert wakes(NAME, CLAIMED, updated, raw_object("c"), raw_object("c"))
    assert wakes(NAME, EPHEMERAL, added, None, raw_object("p-v"))
    assert not wakes(NAME, CLAIMED, added, None, raw_object("d"))
    assert not wakes(NAME, CLAIMED, added, None, raw_object("c", "elsewhere"))


def test_volumes_classes_and_nodes_wake() -> None:
    assert wakes(NAME, CLAIMED, ClusterEvent(VOLUME, Action.UPDATE), raw_object(), raw_object())
    assert wakes_on_node_add(NAME, CLAIMED, node("n"))
    assert wakes_on_node_update(NAME, CLAIMED, node("n"), node("n", labels={"x": "y"}))
    assert not wakes_on_node_update(NAME, CLAIMED, node("n"), node("n", allocatable={"cpu": "9"}))
    updated = ClusterEvent(STORAGE_CLASS, Action.UPDATE)
    assert wakes(NAME, CLAIMED, ClusterEvent(STORAGE_CLASS, Action.ADD), None, raw_object())
    assert wakes(NAME, CLAIMED, updated, raw_object(), raw_object(allowedTopologies=[{}]))
    assert not wakes(NAME, CLAIMED, updated, raw_object(), raw_object())


def test_what_drivers_say_wakes() -> None:
    assert wakes(NAME, CLAIMED, ClusterEvent(CSI_NODE, Action.ADD), None, csi_node("n"))
    updated = ClusterEvent(CSI_NODE, Action.UPDATE)
    migrated = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
    assert wakes(NAME, CLAIMED, updated, csi_node("n"), csi_node("n", migrated))
    assert not wakes(NAME, CLAIMED, updated, csi_node("n", d=1), csi_node("n", d=2))
    inline = pod("p", volumes=[{"name": "v", "csi": {"driver": "d"}}])
    updated = ClusterEvent(CSI_DRIVER, Action.UPDATE)
    assert wakes(NAME, inline, updated, driver(reports=True), driver(reports=False))
    assert not wakes(NAME, inline, updated, driver(reports=False), driver(reports=True))
    assert not wakes(NAME, CLAIMED, updated, driver(reports=True), driver(reports=False))


@pytest.mark.parametrize(
    ("old", "new", "helps"), [("1Gi", "2Gi", True), (None, "2Gi", True), ("2Gi", "1Gi", False), ("2Gi", None, False)]
)
def test_more_room_wakes(old: str | None, new: str, helps: bool) -> None:
    updated = ClusterEvent(STORAGE_CAPACITY, Action.UPDATE)
    assert wakes(NAME, CLAIMED, updated, capacity(old), capacity(new)) is helps
    assert wakes(NAME, CLAIMED, ClusterEvent(STORAGE_CAPACITY, Action.ADD), None, capacity(new))


@settings(max_examples=40)
@given(st.lists(st.integers(1, 9), max_size=4), st.lists(st.integers(1, 9), min_size=1, max_size=3))
def test_claims_fit_exactly_where_each_can_have_a_volume_of_its_own(volumes: list[int], claims: list[int]) -> None:
    objects = [volume(f"v{place}", f"{size}Gi") for place, size in enumerate(volumes)]
    objects += [claim(f"c{place}", f"{size}Gi") for place, size in enumerate(claims)]
    answer = explain(user("p", *(f"c{place}" for place in range(len(claims)))), node("a"), storage_class(), *objects)
    largest = sorted(volumes, reverse=True)[: len(claims)]
    enough = len(largest) == len(claims) and all(
        has >= wants for has, wants in zip(largest, sorted(claims, reverse=True), strict=True)
    )
    assert list_refusals(answer, NAME) == ({} if enough else {"a": (NEVER, NO_VOLUME)})


def test_claims_are_scored_by_the_class_of_their_spec_and_find_room_by_that_of_their_annotation() -> None:
    driver = make_object("CSIDriver", DRIVER, version="storage.k8s.io/v1", spec={"storageCapacity": True})
    capacity = {"storageClassName": "local", "nodeTopology": {}, "capacity": "20Gi"}
    storage_capacity = make_object(
        "CSIStorageCapacity", "s", version="storage.k8s.io/v1", metadata={"namespace": "default"}, **capacity
    )
    objects = [node("a"), storage_class(provisioner=DRIVER), driver, storage_capacity, claim("c", "1")]
    other = claim("d", "5Gi", storageClassName="made")
    other["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": "local"}
    assert raw_scores(explain(user("p", "c", "d"), *objects, other), NAME) == [88]
    assert raw_scores(explain(user("p", "c", "d"), *objects, claim("d", "5Gi")), NAME) == [75]


def test_volumes_are_scored_by_the_class_of_their_spec_and_found_by_that_of_their_annotation() -> None:
    annotated = volume("w", "30Gi")
    annotated["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": "made"}
    classes = [storage_class(), storage_class("made")]
    objects = [node("a"), *classes, volume("v", "10Gi"), claim("c", "10Gi"), claim("d", "1Gi", storageClassName="made")]
    assert raw_scores(explain(user("p", "c", "d"), *objects, annotated), NAME) == [73]  # 11 of 40 GiB
    plain = volume("w", "30Gi", storageClassName="made")
    assert raw_scores(explain(user("p", "c", "d"), *objects, plain), NAME) == [49]  # all of 10 GiB, and 1 of 30


def test_a_class_that_an_annotation_alone_names_ends_kube_scheduler_where_it_would_be_scored() -> None:
    driver = make_object("CSIDriver", DRIVER, version="storage.k8s.io/v1", spec={"storageCapacity": True})
    capacity = {"storageClassName": "local", "nodeTopology": {}, "capacity": "20Gi"}
    storage_capacity = make_object(
        "CSIStorageCapacity", "s", version="storage.k8s.io/v1", metadata={"namespace": "default"}, **capacity
    )
    annotated_claim = claim("c", "1", storageClassName=None)
    annotated_claim["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": "local"}
    objects = [node("a"), storage_class(provisioner=DRIVER), storage_capacity, annotated_claim]
    assert raw_scores(explain(user("p", "c"), *objects), NAME) == [0]
    with pytest.raises(CycleError, match="names its class in an annotation alone"):
        explain(user("p", "c"), *objects, driver)
