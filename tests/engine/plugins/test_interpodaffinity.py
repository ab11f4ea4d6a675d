"""InterPodAffinity: near the pods one wants, away from those one does not, and what they want counts too."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.node import HOSTNAME, ZONE
from kschedweb.engine.releases import RELEASES
from kschedweb.engine.state.cluster_objects import ClusterObjects
from tests.engine.builders import NEVER, NOT_NOW, explain, list_refusals, node, pod
from tests.engine.waking import (
    wakes_on_node_add,
    wakes_on_node_update,
    wakes_on_pod_add,
    wakes_on_pod_delete,
    wakes_on_pod_update,
)

NAME = "InterPodAffinity"
AFFINITY = (NEVER, "node(s) didn't match pod affinity rules")
ANTI_AFFINITY = (NOT_NOW, "node(s) didn't match pod anti-affinity rules")
EXISTING = (NOT_NOW, "node(s) didn't satisfy existing pods anti-affinity rules")
MUST, PREFER = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
WEB = {"app": "web"}
NODES = [node("a", labels={ZONE: "one"}), node("b", labels={ZONE: "one"}), node("c", labels={ZONE: "two"}), node("d")]


def term(key: str = HOSTNAME, **fields: Any) -> dict:
    return {"topologyKey": key, "labelSelector": {"matchLabels": WEB}, **fields}


def near(*terms: dict) -> dict:
    return {"podAffinity": {MUST: list(terms or (term(),))}}


def anti_affinity(*terms: dict) -> dict:
    return {"podAntiAffinity": {MUST: list(terms or (term(),))}}


def wishes(kind: str, weight: int, key: str = ZONE) -> dict:
    return {kind: {PREFER: [{"weight": weight, "podAffinityTerm": term(key)}]}}


def web(name: str = "web", on: str = "", **spec: Any) -> dict:
    return pod(name, on=on, labels=WEB, **spec)


def refusals(incoming: dict, *placed: dict) -> dict[str, tuple[str, ...]]:
    return list_refusals(explain(incoming, *NODES, *placed), NAME)


def test_a_pod_goes_where_the_topology_has_a_pod_it_wants_near() -> None:
    incoming = pod("p", affinity=near(term(ZONE)))
    assert refusals(incoming, web(on="a")) == {"c": AFFINITY, "d": AFFINITY}
    assert refusals(incoming, pod("stranger", on="a")) == dict.fromkeys("abcd", AFFINITY)


def test_one_pod_must_match_all_terms() -> None:
    stable = {"matchLabels": {"track": "stable"}}
    incoming = pod("p", affinity=near(term(), term(labelSelector=stable)))
    both = pod("both", on="a", labels={**WEB, "track": "stable"})
    matching_both, other = web(on="b"), pod("other", on="b", labels={"track": "stable"})
    assert refusals(incoming, both, matching_both, other) == dict.fromkeys("bcd", AFFINITY)


def test_the_first_pod_that_wants_to_be_near_itself_goes_where_the_labels_are() -> None:
    incoming = web("p", affinity=near(term(ZONE)))
    assert refusals(incoming) == {"d": AFFINITY}
    assert refusals(incoming, web(on="c")) == dict.fromkeys("abd", AFFINITY)


def test_a_pod_stays_away_from_those_it_does_not_want() -> None:
    incoming = pod("p", affinity=anti_affinity(term(ZONE)))
    assert refusals(incoming, web(on="a")) == {"a": ANTI_AFFINITY, "b": ANTI_AFFINITY}
    assert refusals(incoming, web(on="d")) == {}, "no topology, no neighbours"


def test_a_pod_stays_away_from_those_who_do_not_want_it() -> None:
    hermit = pod("hermit", on="c", affinity=anti_affinity(term(ZONE)))
    assert refusals(web("p"), hermit) == {"c": EXISTING}
    assert refusals(pod("p"), hermit) == {}
    terminating = pod("hermit", on="c", affinity=anti_affinity(term(ZONE)))
    terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert refusals(web("p"), terminating) == {"c": EXISTING}


def test_affinity_is_told_before_anti_affinity_and_its_own_before_theirs() -> None:
    incoming = web("p", affinity={**near(term(labelSelector={"matchLabels": {"app": "db"}})), **anti_affinity()})
    existing_pods = [web(on="a", affinity=anti_affinity()), pod("db", on="a", labels={"app": "db"})]
    assert refusals(incoming, *existing_pods) == {"a": ANTI_AFFINITY, **dict.fromkeys("bcd", AFFINITY)}


def test_only_pods_of_its_namespace_count_unless_it_says_otherwise() -> None:
    other = web(on="a")
    other["metadata"]["namespace"] = "other"
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": name}}}
        for name in ("default", "other")
    ]
    team = {"namespaceSelector": {"matchLabels": {"team": "other"}}}
    for fields, far in (
        ({}, False),
        ({"namespaces": ["other"]}, True),
        ({"namespaceSelector": {}}, True),
        (team, True),
    ):
        assert bool(refusals(pod("p", affinity=anti_affinity(term(**fields))), other, *namespaces)) is far


@pytest.mark.parametrize(
    ("selector", "before", "since"),
    [
        ({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, False, True),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x"]}]}, False, True),
        ({"matchLabels": {"team": "y"}}, True, True),
        ({"matchLabels": {"team": "x"}}, False, False),
        ({}, False, False),
    ],
)
def test_a_namespace_selector_is_also_asked_about_no_labels(selector: dict, before: bool, since: bool) -> None:
    """Up to 1.36 the selector is kept when the namespaces are listed, so one that matches no labels matches all."""
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": {"team": "x"}}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}},
    ]
    placed = web(on="n")
    placed["metadata"]["namespace"] = "a"
    raw = pod("p", affinity=anti_affinity(term(namespaceSelector=selector)))
    raw["metadata"]["namespace"] = "b"
    for release, fits in (("1.36", before), ("1.37", since)):
        assert ("chosen" in explain(raw, node("n"), placed, *namespaces, release=release)) is fits


def test_a_selector_that_cannot_be_read_refuses_the_pod() -> None:
    bad = {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["web"]}]}
    answer = explain(pod("p", affinity=near(term(labelSelector=bad))), *NODES)
    assert (answer["preFilter"]["plugin"], answer["preFilter"]["code"]) == (NAME, NEVER)
    (reason,) = answer["preFilter"]["reasons"]
    assert reason.startswith("parsing pod: ")
    assert reason.endswith('"Like" is not a valid label selector operator')


def test_wishes_of_both_sides_add_up() -> None:
    incoming = web("p", affinity={**wishes("podAffinity", 10), **wishes("podAntiAffinity", 3, HOSTNAME)})
    placed = [web("one", on="a"), web("two", on="c", affinity=wishes("podAntiAffinity", 4))]
    answer = explain(incoming, *NODES, *placed)
    assert answer["scores"][NAME]["raw"] == {"a": 7, "b": 10, "c": 3, "d": 0}
    assert answer["scores"][NAME]["normalized"] == {"a": 70, "b": 100, "c": 30, "d": 0}


def test_required_affinity_of_placed_pods_counts_as_the_profile_says() -> None:
    fan = pod("fan", on="c", affinity=near())

    def answer(**args: int) -> dict:
        return explain(web("p"), *NODES, fan, pluginConfig=[{"name": NAME, "args": args}])

    assert answer()["scores"][NAME]["raw"] == {"a": 0, "b": 0, "c": 1, "d": 0}
    assert answer(hardPodAffinityWeight=7)["scores"][NAME]["raw"] == {"a": 0, "b": 0, "c": 7, "d": 0}
    assert NAME in answer(hardPodAffinityWeight=0)["skippedScorePlugins"]


def test_wishes_of_placed_pods_can_be_left_out_where_the_pod_has_none() -> None:
    profile = {"pluginConfig": [{"name": NAME, "args": {"ignorePreferredTermsOfExistingPods": True}}]}
    fan = pod("fan", on="c", affinity=wishes("podAffinity", 4))
    assert NAME in explain(web("p"), *NODES, fan, **profile)["skippedScorePlugins"]
    choosy = web("p", affinity=wishes("podAffinity", 1))
    answer = explain(choosy, *NODES, fan, **profile)
    assert answer["scores"][NAME]["raw"] == {"a": 0, "b": 0, "c": 4, "d": 0}


def test_its_score_needs_its_pre_score() -> None:
    with pytest.raises(CycleError, match='failed to read "PreScoreInterPodAffinity" from cycleState: not found'):
        explain(pod("p"), node("n"), plugins={"preScore": {"disabled": [{"name": NAME}]}})


FRIENDLY, HOSTILE = pod("p", affinity=near(term(ZONE))), pod("p", affinity=anti_affinity(term(ZONE)))
STRANGER = pod("web", on="a")


def test_a_friend_that_comes_wakes() -> None:
    assert wakes_on_pod_add(NAME, FRIENDLY, web(on="a"))
    assert not wakes_on_pod_add(NAME, FRIENDLY, STRANGER)
    assert not wakes_on_pod_add(NAME, FRIENDLY, web()), "it waits, too"
    assert wakes_on_pod_update(NAME, FRIENDLY, STRANGER, web(on="a"))
    assert not wakes_on_pod_delete(NAME, FRIENDLY, web(on="a"))


def test_a_foe_that_goes_wakes() -> None:
    assert wakes_on_pod_delete(NAME, HOSTILE, web(on="a"))
    assert not wakes_on_pod_delete(NAME, HOSTILE, STRANGER)
    assert wakes_on_pod_update(NAME, HOSTILE, web(on="a"), STRANGER)
    assert not wakes_on_pod_update(NAME, HOSTILE, STRANGER, web(on="a"))
    assert wakes_on_pod_delete(NAME, web("p"), pod("hermit", on="a", affinity=anti_affinity()))
    assert not wakes_on_pod_add(NAME, HOSTILE, web(on="a"))


@pytest.mark.parametrize("release", RELEASES)
def test_which_foes_wake_differs_from_release_to_release(release: str) -> None:
    choosy = pod("p", affinity=anti_affinity(term(), term(labelSelector={"matchLabels": {"app": "db"}})))
    of_both = pod("hermit", on="a", affinity=anti_affinity(term(), term(labelSelector={"matchLabels": {"app": "db"}})))
    assert wakes_on_pod_delete(NAME, HOSTILE, web(on="a"), release)
    assert wakes_on_pod_delete(NAME, choosy, web(on="a"), release) is (release in ("1.37", "1.38"))
    assert wakes_on_pod_delete(NAME, web("p"), pod("hermit", on="a", affinity=anti_affinity()), release) is (
        release in ("1.36", "1.37", "1.38")
    )
    assert wakes_on_pod_delete(NAME, web("p"), of_both, release) is (release in ("1.37", "1.38"))


def test_since_1_36_pods_that_are_promised_a_node_wake_too() -> None:
    promised = web() | {"status": {"nominatedNodeName": "a"}}
    assert [name for name in RELEASES if wakes_on_pod_add(NAME, FRIENDLY, promised, name)] == ["1.36", "1.37", "1.38"]
    assert all(wakes_on_pod_add(NAME, FRIENDLY, web(on="a"), name) for name in RELEASES)


def test_since_1_38_namespace_selectors_count_for_who_wakes() -> None:
    """A namespace that is not known wakes, so long as only its labels would tell."""
    elsewhere = term(ZONE, namespaceSelector={"matchLabels": {"team": "a"}})
    friendly, hostile = pod("p", affinity=near(elsewhere)), pod("p", affinity=anti_affinity(elsewhere))
    friend = web(on="a") | {"metadata": {"name": "web", "namespace": "other", "labels": WEB}}
    stranger = STRANGER | {"metadata": {"name": "web", "namespace": "other"}}
    assert [name for name in RELEASES if wakes_on_pod_add(NAME, friendly, friend, name)] == ["1.38"]
    assert [name for name in RELEASES if wakes_on_pod_delete(NAME, hostile, friend, name)] == ["1.38"]
    assert not any(wakes_on_pod_add(NAME, friendly, stranger, name) for name in RELEASES)
    for team, expected in (("a", ["1.38"]), ("b", [])):
        known = ClusterObjects()
        known.add({"kind": "Namespace", "metadata": {"name": "other", "labels": {"team": team}}})
        woken = [name for name in RELEASES if wakes_on_pod_add(NAME, friendly, friend, name, known)]
        assert woken == expected


def test_a_node_in_the_topology_wakes() -> None:
    zoned, moved, bare = node("n", labels={ZONE: "z"}), node("n", labels={ZONE: "y"}), node("n")
    assert wakes_on_node_add(NAME, FRIENDLY, zoned)
    assert not wakes_on_node_add(NAME, FRIENDLY, bare)
    assert wakes_on_node_add(NAME, HOSTILE, bare)
    assert wakes_on_node_update(NAME, FRIENDLY, zoned, moved)
    assert not wakes_on_node_update(NAME, FRIENDLY, zoned, bare)
    assert wakes_on_node_update(NAME, HOSTILE, zoned, bare)
    assert not wakes_on_node_update(NAME, HOSTILE, bare, zoned)


@pytest.mark.parametrize("key", [HOSTNAME, ZONE])
@pytest.mark.parametrize("node_name", "abcd")
@pytest.mark.parametrize("labels", [WEB, {"app": "db"}])
def test_anti_affinity_is_the_same_whoever_came_first(key: str, node_name: str, labels: dict) -> None:
    hermit = anti_affinity(term(key))
    theirs = refusals(pod("p", labels=labels), pod("q", on=node_name, affinity=hermit))
    ours = refusals(pod("p", affinity=hermit), pod("q", on=node_name, labels=labels))
    assert theirs.keys() == ours.keys()
    assert bool(ours) == (labels == WEB and (key == HOSTNAME or node_name != "d"))
