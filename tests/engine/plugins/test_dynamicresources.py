"""Resource claims: what is easily got wrong. Every answer here is kube-scheduler's, but for what is outside."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine import Pod, Scheduler
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.framework.events import (
    RESOURCE_CLAIM,
    RESOURCE_CLAIM_UPDATE,
    UNSCHEDULED_POD,
    Action,
    ClusterEvent,
    ObjectChange,
)
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.preparation import FreeClaim
from kschedweb.engine.releases import get_release, load
from kschedweb.engine.state.snapshot import Snapshot
from tests.engine.builders import CONFIGURATION, NEVER, explain, list_refusals, node, pod, raw_scores, scheduler

ZONE = "topology.kubernetes.io/zone"
UNAVAILABLE = "resourceclaim not available on the node"
NONE_FOUND = "cannot allocate all claims"
UNKNOWN = "outside the simulation: whether a device meets the selector"
GPU = "example.com/gpu"


def claim(name: str, *, requests: list[dict] | None = None, metadata: dict | None = None, **status: Any) -> dict:
    """A claim for one device of class gpu; ``status`` as it is in the object."""
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", **(metadata or {})},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}] if requests is None else requests}},
        "status": status,
    }


def allocated(name: str, *terms: dict, reserved: tuple[str, ...] = (), **fields: Any) -> dict:
    """A claim that has its device, on the nodes that ``terms`` select, or on all; ``fields`` of the device."""
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "dev", **fields.pop("result", {})}
    allocation: dict[str, Any] = {"devices": {"results": [result]}, **fields.pop("allocation", {})}
    if terms:
        allocation["nodeSelector"] = {"nodeSelectorTerms": list(terms)}
    return claim(name, allocation=allocation, reservedFor=[consumer(uid) for uid in reserved], **fields)


def consumer(uid: str) -> dict:
    return {"resource": "pods", "name": uid.partition("/")[2], "uid": uid}


def in_zone(*zones: str) -> dict:
    return {"matchExpressions": [{"key": ZONE, "operator": "In", "values": list(zones)}]}


def device_class(name: str, extended: str = "", created: str = "2026-01-01T00:00:00Z") -> dict:
    spec = {"extendedResourceName": extended} if extended else {}
    metadata = {"name": name, "creationTimestamp": created}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": metadata, "spec": spec}


def devices(on: str, number: int) -> dict:
    """The pool of a node with so many devices."""
    listed = [{"name": f"dev{place}"} for place in range(number)]
    pool = {"name": on, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.example.com", "nodeName": on, "pool": pool, "devices": listed}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"slice-{on}"},
        "spec": spec,
    }


def user(name: str, *claims: str, status: dict | None = None, **fields: Any) -> dict:
    listed = [{"name": f"d{number}", "resourceClaimName": item} for number, item in enumerate(claims)]
    return pod(name, resourceClaims=[*listed, *fields.pop("entries", [])], **fields) | {"status": status or {}}


def templated(name: str, *statuses: dict) -> dict:
    entry = {"name": "d", "resourceClaimTemplateName": "template"}
    return user(name, entries=[entry], status={"resourceClaimStatuses": list(statuses)})


TERMINATING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
NODES = [node("a", labels={ZONE: "one"}), node("b", labels={ZONE: "two"})]
GENERATED = {"name": "d", "resourceClaimName": "made"}


@pytest.mark.parametrize(
    ("wanting", "objects", "reason"),
    [
        (user("p", "c"), [], 'could not find ResourceClaim "default/c"'),
        (
            user("p", entries=[{"name": "d"}]),
            [],
            'pod "default/p", spec.resourceClaim "d": none of the supported fields are set',
        ),
        (templated("p"), [], 'pod "default/p": ResourceClaim not created yet'),
        (templated("p", GENERATED), [], 'could not find ResourceClaim "default/made"'),
        (
            templated("p", GENERATED),
            [allocated("made")],
            "ResourceClaim default/made was not created for Pod default/p (Pod is not owner)",
        ),
        (user("p", "c"), [claim("c", metadata=TERMINATING)], 'resourceclaim "c" is being deleted'),
        (user("p", "c"), [claim("c")], "request r: device class gpu does not exist"),
        (
            user("p", "c"),
            [claim("c", requests=[{"name": "r"}])],
            "resource claim default/c, request r: unknown request type",
        ),
        (
            user("p", "c"),
            [claim("c", requests=[{"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "gpu"}]}])],
            "request r/s: device class gpu does not exist",
        ),
    ],
)
def test_a_claim_that_cannot_be_used_at_all_is_refused_before_any_node_is_looked_at(
    wanting: dict, objects: list[dict], reason: str
) -> None:
    answer = explain(wanting, *NODES, *objects)
    assert answer["preFilter"]["reasons"] == [reason]
    assert answer["preFilter"]["code"] == "UnschedulableAndUnresolvable"
    assert answer["message"] == f"0/2 nodes are available: {reason}."


def test_a_claim_made_from_a_template_is_the_pods_where_the_pod_controls_it() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "default/p", "controller": True}
    generated_claim = allocated("made")
    generated_claim["metadata"]["ownerReferences"] = [owner]
    assert explain(templated("p", GENERATED), *NODES, generated_claim)["feasible"] == ["a", "b"]


def test_a_template_that_needs_no_claim_is_passed_over() -> None:
    assert explain(templated("p", {"name": "d"}), *NODES)["feasible"] == ["a", "b"]


def test_an_allocated_claim_keeps_its_pods_on_the_nodes_of_its_devices() -> None:
    answer = explain(user("p", "c"), *NODES, allocated("c", in_zone("two")))
    assert answer["feasible"] == ["b"]
    assert answer["rejected"]["a"]["reasons"] == [UNAVAILABLE]
    assert explain(user("p", "c"), *NODES, allocated("c"))["feasible"] == ["a", "b"]


@pytest.mark.parametrize("terms", [[], [{}]])
def test_a_node_selector_without_conditions_selects_no_node(terms: list[dict]) -> None:
    allocation = {"devices": {}, "nodeSelector": {"nodeSelectorTerms": terms}}
    answer = explain(user("p", "c"), *NODES, claim("c", allocation=allocation))
    assert answer["message"] == f"0/2 nodes are available: 2 {UNAVAILABLE}."


def test_several_claims_must_all_be_usable() -> None:
    objects = [allocated("c", in_zone("one", "two")), allocated("d", in_zone("two"))]
    assert explain(user("p", "c", "d"), *NODES, *objects)["feasible"] == ["b"]


def test_a_node_selector_that_cannot_be_parsed_ends_the_cycle() -> None:
    broken = {"matchExpressions": [{"key": ZONE, "operator": "Wrong"}]}
    twice = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}
    answer = explain(user("p", "c"), *NODES, allocated("c", broken, twice))
    message = (
        'running PreFilter plugin "DynamicResources": [nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported '
        'value: "Wrong": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", '
        'nodeSelectorTerms[1].matchFields[0].values: Invalid value: ["a","b"]: must have one element]'
    )
    assert answer["message"] == message


@pytest.mark.parametrize(
    ("conditions", "dated", "feasible"),
    [
        ({"Attached": "True"}, True, True),
        ({"Attached": "True", "Broken": "True"}, True, False),
        ({"Attached": "False"}, False, True),
        (None, False, True),
    ],
)
def test_devices_that_have_to_be_made_ready(conditions: dict | None, dated: bool, feasible: bool) -> None:
    binding_conditions = {"bindingConditions": ["Attached"], "bindingFailureConditions": ["Broken"]}
    device: dict[str, Any] = {"driver": "d.example.com", "pool": "p", "device": "dev"}
    device["conditions"] = [{"type": kind, "status": status} for kind, status in (conditions or {}).items()]
    since = {"allocationTimestamp": "2026-01-01T00:00:00Z"} if dated else {}
    reported = [] if conditions is None else [device]
    answer = explain(
        user("p", "c"), *NODES, allocated("c", result=binding_conditions, allocation=since, devices=reported)
    )
    assert (answer["feasible"] == ["a", "b"]) is feasible
    assert feasible or answer["message"] == f"0/2 nodes are available: 2 {UNAVAILABLE}."


def test_a_time_limit_for_devices_lies_outside_the_simulation() -> None:
    late = allocated(
        "c",
        in_zone("one"),
        result={"bindingConditions": ["Attached"]},
        allocation={"allocationTimestamp": "2026-01-01T00:00:00Z"},
    )
    answer = explain(user("p", "c"), *NODES, late)
    message = "outside the simulation: the time by which the devices of resource claim default/c have to be ready"
    assert answer["message"] == message
    assert answer["rejected"]["b"]["reasons"] == [UNAVAILABLE]


def test_whether_devices_are_ready_matters_only_where_the_feature_is_on() -> None:
    conditions = [{"type": "Broken", "status": "True"}]
    broken = [{"driver": "d.example.com", "pool": "p", "device": "dev", "conditions": conditions}]
    binding_conditions = {"bindingConditions": ["Attached"], "bindingFailureConditions": ["Broken"]}
    since = {"allocationTimestamp": "2026-01-01T00:00:00Z"}
    late = allocated("c", result={"bindingConditions": ["Attached"]}, allocation=since)
    for unready_claim in (allocated("c", result=binding_conditions, devices=broken), late):
        assert explain(user("p", "c"), *NODES, unready_claim)["feasible"] is None
        for release in ("1.34", "1.35"):  # which have it off
            assert explain(user("p", "c"), *NODES, unready_claim, release=release)["feasible"] == ["a", "b"]


def test_a_selector_that_is_not_understood_is_named_and_nothing_is_guessed() -> None:
    exactly = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": "no such language"}}]}
    objects = [device_class("gpu"), claim("c", requests=[{"name": "r", "exactly": exactly}]), devices("a", 1)]
    answer = explain(user("p", "c"), *NODES, *objects)
    assert answer["message"] == f"{UNKNOWN} no such language"
    # The node without devices has nothing that the selector could accept.
    assert answer["rejected"]["b"]["reasons"] == [NONE_FOUND]
    assert answer["feasible"] is None
    placement = scheduler(*NODES, *objects).schedule_one(Pod.from_json(user("p", "c")))
    assert (placement.node, placement.message) == ("", answer["message"])


def test_nodes_that_another_filter_rejects_leave_no_devices_to_choose() -> None:
    answer = explain(user("p", "c", requests={"cpu": "99"}), *NODES, device_class("gpu"), claim("c"))
    assert answer["message"] == "0/2 nodes are available: 2 Insufficient cpu."


def test_a_claim_without_requests_needs_no_device() -> None:
    bare = claim("c", requests=[])
    bare["spec"]["devices"]["constraints"] = [{"matchAttribute": "example.com/model"}]
    assert explain(user("p", "c"), *NODES, bare)["feasible"] == ["a", "b"]


def test_alternatives_count_only_where_a_claim_had_nothing_yet() -> None:
    alternatives = [{"name": name, "deviceClassName": "gpu"} for name in ("s", "t")]
    requests = [{"name": "r", "firstAvailable": alternatives}]
    second = {"devices": {"results": [{"request": "r/t", "driver": "d", "pool": "p", "device": "x"}]}}
    objects = [*NODES, claim("c", requests=requests, allocation=second), claim("bare", requests=[])]
    assert raw_scores(explain(user("p", "c"), *objects), "DynamicResources") == [0, 0]
    answer = explain(user("p", "c", "bare"), *objects)
    assert raw_scores(answer, "DynamicResources") == [7, 7]
    assert answer["scores"]["DynamicResources"]["normalized"] == {"a": 100, "b": 100}


def extended_nodes() -> list[dict]:
    """A node with a device plugin for the resource, one whose plugin has none, one without."""
    amounts = {"plugin": {GPU: "2"}, "empty": {GPU: "0"}, "none": {}}
    return [node(name, allocatable=amount) for name, amount in amounts.items()]


def test_an_extended_resource_that_a_class_stands_for_is_left_to_devices_where_no_plugin_has_it() -> None:
    wanting = pod("p", requests={GPU: "1"})
    assert explain(wanting, *extended_nodes())["feasible"] == ["plugin"]
    answer = explain(wanting, *extended_nodes(), device_class("gpu", GPU))
    assert answer["feasible"] == ["plugin"]
    assert list_refusals(answer, "DynamicResources") == {name: (NEVER, NONE_FOUND) for name in ("empty", "none")}
    answer = explain(wanting, *extended_nodes(), device_class("gpu", GPU), devices("none", 1))
    assert answer["feasible"] == ["plugin", "none"]
    assert explain(wanting, *extended_nodes()[:1], device_class("gpu", GPU))["feasible"] == ["plugin"]


def test_a_class_stands_for_the_resource_of_its_own_name_too() -> None:
    wanting = pod("p", requests={"deviceclass.resource.kubernetes.io/gpu": "1"})
    assert NONE_FOUND in explain(wanting, *NODES, device_class("gpu"))["message"]
    assert explain(wanting, *NODES, device_class("gpu"), devices("b", 1))["feasible"] == ["b"]
    assert "Insufficient" in explain(wanting, *NODES, device_class("nic"))["message"]


def test_of_classes_for_the_same_resource_the_newest_counts_then_the_first_by_name() -> None:
    wanting = pod("p", requests={GPU: "1"})
    old, new = device_class("a", GPU, "2025-01-01T00:00:00Z"), device_class("b", GPU)
    new["spec"]["selectors"] = [{"cel": {"expression": "no such language"}}]
    assert explain(wanting, *NODES, devices("a", 1), old, new)["message"].startswith(UNKNOWN)
    assert explain(wanting, *NODES, devices("a", 1), device_class("c", GPU), new)["message"].startswith(UNKNOWN)
    assert explain(wanting, *NODES, devices("a", 1), device_class("a", GPU), new)["feasible"] == ["a"]


def test_a_claim_left_by_an_earlier_attempt_has_to_go_first() -> None:
    stale_claim = claim("left", metadata={"annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}})
    stale_claim["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": "p", "uid": "default/p", "controller": True}]
    objects = [*NODES, device_class("gpu", GPU), stale_claim]
    wanting = Pod.from_json(pod("p", requests={GPU: "1"}))
    engine = scheduler(*objects)
    stale = engine.schedule_one(wanting, SearchRequest(post_filter=True))
    assert stale.message == "0/2 nodes are available: 2 cannot schedule extended resource claim."
    assert stale.post_filter.startswith("deletion of ResourceClaim completed")
    assert NONE_FOUND in engine.schedule_one(wanting).message


def reserved_for(engine: Scheduler, name: str) -> tuple[str, ...]:
    resource_claim = engine.snapshot.resource_claims.get("default", name)
    assert resource_claim is not None
    return resource_claim.reserved_for


def test_each_pod_that_is_bound_joins_those_that_the_claim_is_reserved_for() -> None:
    engine = scheduler(*NODES, allocated("c", reserved=("default/q",)))
    before = engine.snapshot.copy()
    placed = engine.schedule_pods([Pod.from_json(user(name, "c")) for name in ("q", "r", "s")])
    assert all(placement.node for placement in placed)
    assert reserved_for(engine, "c") == ("default/q", "default/r", "default/s")
    # A copy of the snapshot keeps what it knew.
    shared_claim = before.resource_claims.get("default", "c")
    assert shared_claim is not None
    assert shared_claim.reserved_for == ("default/q",)


def list_devices(engine: Scheduler, name: str) -> list[str]:
    """The devices that a claim has."""
    resource_claim = engine.snapshot.resource_claims.get("default", name)
    assert resource_claim is not None
    return (
        []
        if resource_claim.allocation is None
        else ["/".join(device.device[1:]) for device in resource_claim.allocation.devices]
    )


def test_later_pods_see_the_devices_that_earlier_ones_took() -> None:
    claims = [claim(f"c{number}") for number in range(4)]
    engine = scheduler(*NODES, device_class("gpu"), devices("a", 2), devices("b", 1), *claims)
    placed = engine.schedule_pods([Pod.from_json(user(f"p{number}", f"c{number}")) for number in range(4)])
    assert [placement.node for placement in placed] == ["a", "b", "a", ""]
    assert placed[-1].message == f"0/2 nodes are available: 2 {NONE_FOUND}."
    assert [list_devices(engine, f"c{number}") for number in range(4)] == [["a/dev0"], ["b/dev0"], ["a/dev1"], []]
    # The devices can be used on their node alone.
    assert explain_again(engine, "c0") == ["a"]


def explain_again(engine: Scheduler, name: str) -> list[str]:
    return engine.explain(Pod.from_json(user("again", name))).to_dict()["feasible"]


def test_a_claim_on_its_way_keeps_other_pods_waiting() -> None:
    engine = scheduler(*NODES, device_class("gpu"), devices("a", 1), claim("c"))
    binding = engine.create_binding(Pod.from_json(user("p", "c")), "a")
    assert binding.reserve_and_permit() is None
    answer = engine.explain(Pod.from_json(user("q", "c"))).to_dict()
    assert answer["preFilter"]["reasons"] == ["resource claim default/c is in the process of being allocated"]
    binding.give_up("")
    assert explain_again(engine, "c") == ["a"]


def test_a_claim_is_made_for_extended_resources_and_counts() -> None:
    engine = scheduler(*NODES, device_class("gpu", GPU), devices("a", 3), claim("c"))
    first, second = (Pod.from_json(pod(name, requests={GPU: amount})) for name, amount in (("p", "2"), ("q", "2")))
    assert engine.schedule_one(first).node == "a"
    extended_claim = engine.snapshot.resource_claims.for_extended_resources("p", first.uid)
    assert extended_claim is not None
    assert extended_claim.allocation is not None
    assert [(device.request, device.device[2]) for device in extended_claim.allocation.devices] == [
        ("container-0-request-0", "dev0"),
        ("container-0-request-0", "dev1"),
    ]
    assert engine.schedule_one(second).message == f"0/2 nodes are available: 2 {NONE_FOUND}."
    assert engine.schedule_one(Pod.from_json(user("r", "c"))).node == "a"


def test_no_more_than_256_pods_share_a_claim() -> None:
    engine = scheduler(node("a", allocatable={"pods": "999"}), allocated("c"))
    placed = engine.schedule_pods([Pod.from_json(user(f"p{number}", "c")) for number in range(257)])
    assert [placement.pod for placement in placed if not placement.node] == ["default/p256"]
    assert "Too many: 257: must have at most 256 items" in placed[-1].message
    assert len(reserved_for(engine, "c")) == 256
    assert len(engine.snapshot.pods.slots) == 256


def test_a_pod_that_is_not_bound_after_all_gives_its_reservations_back() -> None:
    engine = scheduler(*NODES, allocated("c"), allocated("full", reserved=tuple(f"x/{n}" for n in range(256))))
    placement = engine.schedule_one(Pod.from_json(user("p", "c", "full")))
    assert placement.node == ""
    assert reserved_for(engine, "c") == ()
    assert len(reserved_for(engine, "full")) == 256


def test_devices_that_keep_a_pod_off_every_node_are_given_back_where_nobody_else_uses_them() -> None:
    wanting, objects = Pod.from_json(user("p", "c")), [*NODES, device_class("gpu")]
    engine = scheduler(*objects, allocated("c", in_zone("three"), reserved=("default/p",)))
    explained = engine.explain(wanting, preemption=True)
    assert explained.post_filter.startswith("deallocation of ResourceClaim completed")
    assert engine.explain(wanting).message == f"0/2 nodes are available: 2 {UNAVAILABLE}."
    # Where the cluster is to do so, only it changes anything.
    assert engine.find(wanting, SearchRequest(post_filter=True, elsewhere=True)).frees == (FreeClaim("default", "c"),)
    assert engine.explain(wanting).message == f"0/2 nodes are available: 2 {UNAVAILABLE}."
    engine.schedule_one(wanting, SearchRequest(post_filter=True))
    assert engine.explain(wanting).message == f"0/2 nodes are available: 2 {NONE_FOUND}."


@pytest.mark.parametrize(
    ("wanting", "words"),
    [
        (user("p", "c"), "still not schedulable"),
        (user("p", "d", requests={"cpu": "99"}), "still not schedulable"),
        (user("p", requests={"cpu": "99"}), "no new claims to deallocate"),
        (user("p", "missing"), "no new claims to deallocate"),
    ],
)
def test_what_post_filter_says_up_to_1_36_where_it_gives_nothing_back(wanting: dict, words: str) -> None:
    used = allocated("c", in_zone("three"), reserved=("default/q",))
    free = allocated("d", in_zone("three"))

    def post_filter_message(release: str) -> str:
        engine = scheduler(*NODES, used, free, release=release)
        return engine.explain(Pod.from_json(wanting), preemption=True).post_filter

    assert post_filter_message("1.36").startswith(f"{words}, preemption: ")
    assert post_filter_message("1.37").startswith("preemption: ")


def test_room_that_is_looked_for_where_a_selector_is_not_understood_lies_outside() -> None:
    filler = pod("q", on="a", requests={"cpu": "4"})
    wanting = Pod.from_json(user("p", "c", requests={"cpu": "1"}, priority=10))
    unclear = device_class("gpu") | {"spec": {"selectors": [{"cel": {"expression": "no such language"}}]}}
    engine = scheduler(NODES[0], unclear, claim("c"), devices("a", 1), filler)
    explained = engine.explain(wanting, preemption=True)
    assert explained.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert explained.post_filter == f"{UNKNOWN} no such language"
    placement = engine.schedule_pods([wanting], SearchRequest(preempt=True))[0]
    assert placement.message == f"{UNKNOWN} no such language"
    assert "default/q" in engine.snapshot.pods.slots


def test_without_pre_filter_the_other_points_find_nothing() -> None:
    profile = {"plugins": {"preFilter": {"disabled": [{"name": "DynamicResources"}]}}}
    engine = scheduler(*NODES, allocated("c"), **profile)
    assert engine.schedule_pods([Pod.from_json(user("p", "c"))])[0].message == (
        'running "DynamicResources" filter plugin: not found'
    )


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ({"spec": {"devices": {"requests": 3}}}, "spec.devices.requests: must be a list, is a number"),
        ({"status": {"reservedFor": [1]}}, "status.reservedFor[0]: must be an object, is a number"),
        (
            {"status": {"allocation": {"nodeSelector": []}}},
            "status.allocation.nodeSelector: must be an object, is a list",
        ),
        (
            {"metadata": {"name": "c", "annotations": {"a": 1}}},
            "metadata.annotations['a']: must be a string, is a number",
        ),
    ],
)
def test_a_claim_that_cannot_be_understood_is_a_problem_not_a_failure(broken: dict, problem: str) -> None:
    engine = scheduler(node("a"), claim("c") | broken)
    assert [reason for _, reason in engine.snapshot.problems] == [problem]


def test_a_pod_whose_claims_cannot_be_understood_is_a_problem_not_a_failure() -> None:
    engine = scheduler(node("a"), pod("p", resourceClaims="c"))
    assert engine.snapshot.problems == [("Pod default/p", "spec.resourceClaims: must be a list, is a string")]


def test_unreserve_may_come_at_any_time() -> None:
    engine = scheduler(*NODES, allocated("c"))
    wanting = Pod.from_json(user("p", "c"))
    plugin = engine.framework(wanting).plugin("DynamicResources")
    cycle = Cycle(engine.snapshot, wanting)
    plugin.unreserve(cycle, "a")
    assert plugin.pre_bind(cycle, "a").ok
    assert plugin.pre_bind(cycle, "a").ok
    assert reserved_for(engine, "c") == ("default/p",)
    plugin.unreserve(cycle, "a")
    plugin.unreserve(cycle, "a")
    assert reserved_for(engine, "c") == ()


def test_a_pod_whose_claims_are_not_there_yet_is_kept_out_of_the_queue() -> None:
    engine = scheduler(*NODES, allocated("c"))
    rejection = engine.explain(Pod.from_json(templated("p"))).pre_enqueue
    assert (rejection.plugin, rejection.reasons) == (
        "DynamicResources",
        ('pod "default/p": ResourceClaim not created yet',),
    )
    assert engine.explain(Pod.from_json(user("p", "c"))).pre_enqueue.ok


def test_a_claim_that_is_named_twice_cannot_be_reserved_twice() -> None:
    objects = (*NODES, allocated("c", reserved=("x",)), allocated("own", reserved=("default/q",)))
    refused = (
        'running PreBind plugin "DynamicResources": add reservation to claim default/c: ResourceClaim.resource.k8s.io '
        '"c" is invalid: status.reservedFor[2]: Duplicate value: '
    )
    before = scheduler(*objects, release="1.36").schedule_one(Pod.from_json(user("p", "c", "c")))
    assert before.message == f'{refused}"default/p"'
    engine = scheduler(*objects)
    since = engine.schedule_one(Pod.from_json(user("p", "c", "c")))
    assert since.message == refused + '{"resource":"pods","name":"p","uid":"default/p"}'
    assert reserved_for(engine, "c") == ("x",)
    assert engine.schedule_one(Pod.from_json(user("q", "own", "own"))).node


def test_claims_beside_an_extended_resource_of_a_device_plugin_cannot_be_bound() -> None:
    engine = scheduler(*extended_nodes()[:1], device_class("gpu", GPU), allocated("c"))
    assert engine.schedule_one(Pod.from_json(user("p", "c", requests={GPU: "1"}))).message == (
        'running PreBind plugin "DynamicResources": nil or empty request mappings, no update of pod default/p '
        "ExtendedResourceClaimStatus"
    )
    assert reserved_for(engine, "c") == ()
    assert engine.schedule_one(Pod.from_json(pod("q", requests={GPU: "1"}))).node == "plugin"


def woken(wanting: dict, event: ClusterEvent, old: Any, new: Any, *objects: dict) -> bool:
    """Return whether the change requeues a pod that DynamicResources rejected."""
    engine = scheduler(*NODES, *objects)
    pod_ = Pod.from_json(wanting)
    plugin = engine.framework(pod_).plugin("DynamicResources")
    hints = [item.hint for item in plugin.events() if item.event.covers(event)]
    change = ObjectChange(old, new, engine.snapshot.objects)
    return any(hint is None or hint(pod_, change) for hint in hints)


CLAIM_ADD = ClusterEvent(RESOURCE_CLAIM, Action.ADD)


@pytest.mark.parametrize(
    ("old", "new", "wakes"),
    [
        (None, allocated("c"), True),
        (None, allocated("other"), False),
        (allocated("c"), allocated("c", reserved=("x",)), True),
        (allocated("c"), allocated("c", metadata={"labels": {"a": "b"}}), False),
        (allocated("other"), allocated("other", reserved=("x",)), False),
        (allocated("other"), claim("other"), True),
    ],
)
def test_a_claim_wakes_who_uses_it_and_everybody_where_devices_come_free(
    old: dict | None, new: dict, wakes: bool
) -> None:
    event = CLAIM_ADD if old is None else RESOURCE_CLAIM_UPDATE
    assert woken(user("p", "c"), event, old, new, allocated("c")) is wakes
    assert not woken(user("p", "c", "missing"), event, old, new, allocated("c"))


def test_a_claim_made_for_a_pod_wakes_that_pod() -> None:
    event = ClusterEvent(UNSCHEDULED_POD, Action.POD_GENERATED_CLAIM)
    generated_claim = allocated("made")
    generated_claim["metadata"]["ownerReferences"] = [
        {"kind": "Pod", "name": "p", "uid": "default/p", "controller": True}
    ]
    before, after = Pod.from_json(templated("p")), Pod.from_json(templated("p", GENERATED))
    assert woken(templated("p"), event, before, after, generated_claim)
    assert not woken(templated("p"), event, before, after)
    assert not woken(templated("q"), event, before, after, generated_claim)


def tainted(**selector: str) -> dict:
    taint = {"key": "worn", "effect": "NoSchedule"}
    spec = {"deviceSelector": selector, "taint": taint}
    metadata = {"name": "rule"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("release", "selector", "nodes"),
    [
        ("1.37", {"driver": "d.example.com", "pool": "a"}, ["b"]),
        ("1.37", {"device": "dev0"}, []),
        ("1.37", {"driver": "other.example.com"}, ["a", "b"]),
        ("1.36", {"device": "dev0"}, ["a", "b"]),
    ],
)
def test_a_rule_taints_the_devices_that_it_selects(release: str, selector: dict, nodes: list[str]) -> None:
    objects = [node("a"), node("b"), device_class("gpu"), claim("c"), devices("a", 1), devices("b", 1)]
    loaded = load({**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler"}]}, get_release(release))
    assert loaded.configuration is not None
    engine = Scheduler(Snapshot.from_objects([*objects, tainted(**selector), user("p", "c")]), loaded.configuration)
    explanation = engine.explain(engine.snapshot.get_pod("default/p"))
    assert sorted(explanation.nodes[row] for row in explanation.feasible.tolist()) == nodes
