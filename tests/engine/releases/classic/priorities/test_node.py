from __future__ import annotations

import json

import pytest

from kschedweb.engine import Pod
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.releases.classic import Edition
from tests.engine.builders import node, pod
from tests.engine.releases.classic.support import scheduler, scores

MIB = 1 << 20


def preferring(*terms: tuple[int, dict]) -> dict:
    listed = [{"weight": weight, "preference": term} for weight, term in terms]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": listed}}}


def on(disk: str) -> dict:
    return {"matchExpressions": [{"key": "disk", "operator": "In", "values": [disk]}]}


DISKS = [node("a", labels={"disk": "ssd"}), node("b", labels={"disk": "hdd"}), node("c")]


def test_the_best_node_affinity_becomes_ten_and_fields_do_not_count() -> None:
    field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["c"]}]}
    raw = pod("p", **preferring((3, on("ssd")), (7, on("hdd")), (50, field), (9, {})))
    assert scores("NodeAffinityPriority", raw, *DISKS) == ([3, 7, 0], [4, 10, 0])


LIKE = {"key": "disk", "operator": "Like"}


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (LIKE, '"Like" is not a valid node selector operator'),
        (
            {"key": "disk", "operator": "Gt", "values": ["4Gi"]},
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            {"key": "A.io/disk", "operator": "Exists", "values": ["x"]},
            'invalid label key "A.io/disk": prefix part a DNS-1123 subdomain must consist of lower case alphanumeric',
        ),
        ({"key": "disk", "operator": "In", "values": ["x" * 64]}, "must be no more than 63 characters"),
    ],
)
def test_a_preference_that_cannot_be_read_fails_in_the_words_of_then_on_each_node(expression: dict, words: str) -> None:
    raw = pod("p", **preferring((1, on("ssd")), (1, {"matchExpressions": [expression, LIKE]})))
    with pytest.raises(CycleError) as failure:
        scheduler(*DISKS).explain(Pod.from_json(raw))
    assert str(failure.value).count(words) == len(DISKS)
    assert scheduler(DISKS[0]).explain(Pod.from_json(raw)).node == "a"  # an only node is not scored


def test_fields_that_cannot_be_read_do_not_count_either() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "Like"}], **on("ssd")}
    assert scores("NodeAffinityPriority", pod("p", **preferring((3, term))), *DISKS)[0] == [3, 0, 0]


def test_taints_that_are_not_tolerated_cost() -> None:
    taints = [{"key": key, "effect": "PreferNoSchedule"} for key in "klm"]
    nodes = [node("a"), node("b", taints=taints[:1]), node("c", taints=taints)]
    raw = pod(
        "p", tolerations=[{"key": "m", "operator": "Exists"}, {"key": "k", "operator": "Exists", "effect": "NoExecute"}]
    )
    assert scores("TaintTolerationPriority", raw, *nodes) == ([0, 1, 2], [10, 5, 0])


def test_an_image_counts_by_how_many_nodes_had_it_when_the_node_became_known() -> None:
    images = [{"names": ["registry.example/app:v1"], "sizeBytes": 1000 * MIB}]
    nodes = [node("a", images=images), node("b"), node("c", images=images), node("d")]
    mapped, _ = scores("ImageLocalityPriority", pod("p"), *nodes)
    assert mapped == [10 * (250 - 23) // 977, 0, 10 * (500 - 23) // 977, 0]


def test_in_1_9_an_image_counts_whole() -> None:
    images = [{"names": ["registry.example/app:v1"], "sizeBytes": size} for size in (500 * MIB, 2000 * MIB, MIB)]
    nodes = [node(name, images=[image]) for name, image in zip("abc", images, strict=True)]
    assert scores("ImageLocalityPriority", pod("p"), *nodes, edition=Edition("1.9"))[0] == [5, 10, 0]


def test_nodes_that_would_rather_not_have_a_controllers_pods_score_nought() -> None:
    def avoiding(name: str, text: str) -> dict:
        raw_node = node(name)
        raw_node["metadata"]["annotations"] = {"scheduler.alpha.kubernetes.io/preferAvoidPods": text}
        return raw_node

    owner = {"apiVersion": "v1", "kind": "ReplicationController", "name": "rc", "uid": "u", "controller": True}
    avoidance = json.dumps({"preferAvoidPods": [{"podSignature": {"podController": owner}}]})
    nodes = [avoiding("a", avoidance), avoiding("b", "not JSON"), node("c")]
    raw = pod("p")
    raw["metadata"]["ownerReferences"] = [owner]
    assert scores("NodePreferAvoidPodsPriority", raw, *nodes)[0] == [0, 10, 10]
    raw["metadata"]["ownerReferences"] = [owner | {"uid": "another"}]
    assert scores("NodePreferAvoidPodsPriority", raw, *nodes)[0] == [10, 10, 10]


@pytest.mark.parametrize(("presence", "expected"), [(True, [10, 10, 0]), (False, [0, 0, 10])])
def test_a_label_is_preferred_to_be_there_or_not(presence: bool, expected: list[int]) -> None:
    argument = {"labelPreference": {"label": "disk", "presence": presence}}
    assert scores("LikeDisk", pod("p"), *DISKS, argument=argument)[0] == expected


def test_all_are_equal_to_who_asks_for_that() -> None:
    assert scores("EqualPriority", pod("p"), *DISKS)[0] == [1, 1, 1]
