"""PodTopologySpread: pods spread over zones, hosts or other domains, by rule or by preference."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.framework.events import NODE_DELETE
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.node import HOSTNAME, ZONE, Node
from kschedweb.engine.releases import RELEASES
from tests.engine.builders import NEVER, NOT_NOW, explain, list_refusals, node, normalized_scores, pod, raw_scores
from tests.engine.waking import wakes, wakes_on_node_update, wakes_on_pod_add, wakes_on_pod_delete, wakes_on_pod_update

NAME = "PodTopologySpread"
SKEWED = (NOT_NOW, "node(s) didn't match pod topology spread constraints")
UNLABELLED = (NEVER, "node(s) didn't match pod topology spread constraints (missing required label)")
WEB = {"app": "web"}
TAINT = {"key": "k", "effect": "NoSchedule"}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": WEB},
}


def spread(key: str = ZONE, **fields: Any) -> dict:
    rule = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {**rule, "labelSelector": {"matchLabels": WEB}, **fields}


def incoming(*rules: dict, **spec: Any) -> dict:
    return pod("p", labels=WEB, topologySpreadConstraints=list(rules), **spec)


def web(on: str, name: str = "", **spec: Any) -> dict:
    return pod(name or f"on-{on}", on=on, labels=WEB, **spec)


def zoned(name: str, zone: str = "", **fields: Any) -> dict:
    return node(name, labels={ZONE: zone or name}, **fields)


A, B, C = (zoned(name) for name in "abc")


def refusals(raw: dict, *objects: dict) -> dict[str, tuple[str, ...]]:
    return list_refusals(explain(raw, *objects), NAME)


def test_a_node_is_refused_where_the_skew_would_be_too_large() -> None:
    assert refusals(incoming(spread()), A, B, web("a")) == {"a": SKEWED}
    assert refusals(incoming(spread(maxSkew=2)), A, B, web("a")) == {}
    assert refusals(incoming(spread(maxSkew=2)), A, B, web("a"), web("a", "more")) == {"a": SKEWED}


def test_a_pod_that_is_not_counted_itself_adds_nothing() -> None:
    other = pod("p", topologySpreadConstraints=[spread()])
    assert refusals(other, A, B, web("a")) == {}
    assert refusals(other, A, B, web("a"), web("a", "more")) == {"a": SKEWED}


def test_a_node_without_the_label_is_refused_for_good() -> None:
    assert refusals(incoming(spread()), A, node("n")) == {"n": UNLABELLED}


def test_the_first_constraint_that_fails_is_told_and_a_node_must_have_all_labels_to_count() -> None:
    full, empty = (node(f"n{zone}", labels={ZONE: zone, "rack": zone}) for zone in "ab")
    by_zone, by_rack = spread(), spread("rack")
    placed = [web("na"), web("a"), web("a", "more")]
    assert refusals(incoming(by_zone, by_rack), A, full, empty, *placed) == {"a": SKEWED, "na": SKEWED}
    assert refusals(incoming(by_rack, by_zone), A, full, empty, *placed) == {"a": UNLABELLED, "na": SKEWED}
    assert refusals(incoming(by_rack, by_zone), A, full, empty, *placed[1:]) == {"a": UNLABELLED}


def test_too_few_domains_count_as_an_empty_one() -> None:
    rule = spread(minDomains=3)
    assert refusals(incoming(rule), A, B, web("a"), web("b")) == {"a": SKEWED, "b": SKEWED}
    assert refusals(incoming(rule), A, B, C, web("a"), web("b")) == {"a": SKEWED, "b": SKEWED}
    assert refusals(incoming(rule), A, B, C, web("a"), web("b"), web("c")) == {}


def test_who_counts() -> None:
    def counts(**change: Any) -> bool:
        placed = web("a")
        placed["metadata"].update(change)
        return bool(refusals(incoming(spread()), A, B, placed))

    assert counts()
    assert not counts(labels={"app": "db"})
    assert not counts(namespace="other")
    assert not counts(deletionTimestamp="2026-01-01T00:00:00Z")


def test_a_selector_for_all_counts_nobody_but_the_pod_itself() -> None:
    rule = spread(labelSelector={})
    assert refusals(incoming(rule), A, B, web("a"), web("a", "more")) == {}
    assert refusals(incoming(spread(labelSelector=None)), A, B, web("a"), web("a", "more")) == {}


def test_match_label_keys_narrow_the_selector() -> None:
    versioned = pod("p", labels={**WEB, "v": "2"}, topologySpreadConstraints=[spread(matchLabelKeys=["v"])])
    assert refusals(versioned, A, B, web("a")) == {}
    assert refusals(versioned, A, B, pod("new", on="a", labels={**WEB, "v": "2"})) == {"a": SKEWED}


@pytest.mark.parametrize(
    ("policy", "counted"),
    [
        ({}, True),
        ({"nodeTaintsPolicy": "Ignore"}, True),
        ({"nodeTaintsPolicy": "Honor"}, False),
    ],
)
def test_a_domain_behind_a_taint_counts_as_the_rule_says(policy: dict, counted: bool) -> None:
    objects = [A, zoned("b", taints=[TAINT]), web("a")]
    assert refusals(incoming(spread(**policy)), *objects) == ({"a": SKEWED} if counted else {})


@pytest.mark.parametrize(
    ("policy", "counted"),
    [({}, False), ({"nodeAffinityPolicy": "Honor"}, False), ({"nodeAffinityPolicy": "Ignore"}, True)],
)
def test_a_domain_outside_the_pods_selector_counts_as_the_rule_says(policy: dict, counted: bool) -> None:
    choosy = incoming(spread(**policy), nodeSelector={ZONE: "a"})
    assert refusals(choosy, A, B, web("a")) == ({"a": SKEWED} if counted else {})


def test_soft_constraints_score_and_refuse_nobody() -> None:
    soft = incoming(spread(whenUnsatisfiable="ScheduleAnyway"))
    objects = [A, B, C, node("n"), web("a"), web("a", "more"), web("b")]
    answer = explain(soft, *objects)
    assert list_refusals(answer, NAME) == {}
    assert raw_scores(answer, NAME) == [3, 2, 0, 0]
    # A node without the label is not scored; it stands last.
    assert normalized_scores(answer, NAME) == [0, 33, 100, 0]


def test_pods_of_a_service_are_spread_over_hosts_and_zones_by_default() -> None:
    objects = [A, B, web("a"), web("a", "more"), web("b")]
    answer = explain(pod("p", labels=WEB), *objects, SERVICE)
    assert raw_scores(answer, NAME) == [12, 9]
    assert normalized_scores(answer, NAME) == [75, 100]
    assert NAME in explain(pod("p", labels=WEB), *objects)["skippedScorePlugins"]
    none = {"pluginConfig": [{"name": NAME, "args": {"defaultingType": "List"}}]}
    assert NAME in explain(pod("p", labels=WEB), *objects, SERVICE, **none)["skippedScorePlugins"]


def test_a_profile_has_constraints_for_pods_without_their_own() -> None:
    rule = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    args = {"defaultingType": "List", "defaultConstraints": [rule]}
    profile = {"pluginConfig": [{"name": NAME, "args": args}]}
    answer = explain(pod("p", labels=WEB), A, B, web("a"), SERVICE, **profile)
    assert list_refusals(answer, NAME) == {"a": SKEWED}
    own_constraints = incoming(spread(maxSkew=5))
    assert list_refusals(explain(own_constraints, A, B, web("a"), SERVICE, **profile), NAME) == {}


def test_filter_and_score_need_what_was_found_before() -> None:
    profile = {"plugins": {"preFilter": {"disabled": [{"name": NAME}]}}}
    message = (
        'running "PodTopologySpread" filter plugin: reading "PreFilterPodTopologySpread" from cycleState: not found'
    )
    assert explain(pod("p"), A, **profile)["rejected"]["a"]["reasons"] == [message]
    with pytest.raises(CycleError, match='error reading "PreScorePodTopologySpread" from cycleState: not found'):
        explain(pod("p"), A, plugins={"preScore": {"disabled": [{"name": NAME}]}})


HARD, STRANGER = incoming(spread()), pod("on-a", on="a")
TOLERANT: dict[str, Any] = {"tolerations": [{"key": "k", "operator": "Exists"}]}


def test_a_pod_that_counts_wakes_by_coming_and_going() -> None:
    assert wakes_on_pod_add(NAME, HARD, web("a"))
    assert not wakes_on_pod_add(NAME, HARD, STRANGER)
    assert wakes_on_pod_delete(NAME, HARD, web("a"))
    assert wakes_on_pod_update(NAME, HARD, web("a"), STRANGER)
    assert not wakes_on_pod_update(NAME, HARD, web("a"), pod("on-a", on="a", labels={**WEB, "x": "y"}))
    soft = incoming(spread(whenUnsatisfiable="ScheduleAnyway"))
    assert not wakes_on_pod_add(NAME, soft, web("a"))


def test_since_1_36_a_pod_that_is_promised_a_node_counts_too() -> None:
    promised = web("") | {"status": {"nominatedNodeName": "a"}}
    assert [name for name in RELEASES if wakes_on_pod_add(NAME, HARD, promised, name)] == ["1.36", "1.37", "1.38"]


def test_its_own_tolerations_wake_it_where_taints_count() -> None:
    more = incoming(spread(), **TOLERANT)
    honors = incoming(spread(nodeTaintsPolicy="Honor"))
    assert wakes_on_pod_update(NAME, honors, HARD, more)
    assert not wakes_on_pod_update(NAME, HARD, HARD, more)
    assert not wakes_on_pod_update(NAME, honors, web("a"), web("a", **TOLERANT))


def test_a_domain_that_comes_or_goes_wakes() -> None:
    assert wakes(NAME, HARD, NODE_DELETE, Node.from_json(A), None)
    assert not wakes(NAME, HARD, NODE_DELETE, Node.from_json(node("n")), None)
    assert wakes_on_node_update(NAME, HARD, node("n"), zoned("n"))
    assert wakes_on_node_update(NAME, HARD, zoned("n", "y"), zoned("n", "z"))
    assert wakes_on_node_update(NAME, HARD, zoned("n"), zoned("n", taints=[TAINT]))
    assert not wakes_on_node_update(NAME, HARD, zoned("n"), node("n", labels={ZONE: "n", "x": "y"}))


@settings(max_examples=40)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=4), st.integers(1, 3))
def test_a_domain_is_refused_exactly_where_its_skew_would_exceed_the_rule(counts: list[int], skew: int) -> None:
    nodes = [zoned(f"n{place}") for place in range(len(counts))]
    placed = [web(f"n{place}", f"w{place}-{i}") for place, count in enumerate(counts) for i in range(count)]
    expected = {f"n{place}" for place, count in enumerate(counts) if count + 1 - min(counts) > skew}
    assert refusals(incoming(spread(maxSkew=skew)), *nodes, *placed).keys() == expected


@settings(max_examples=40)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=4), st.sampled_from([HOSTNAME, ZONE]))
def test_emptier_domains_score_higher(counts: list[int], key: str) -> None:
    nodes = [zoned(f"n{place}") for place in range(len(counts))]
    placed = [web(f"n{place}", f"w{place}-{i}") for place, count in enumerate(counts) for i in range(count)]
    answer = explain(incoming(spread(key, whenUnsatisfiable="ScheduleAnyway")), *nodes, *placed)
    scores = dict(zip(counts, normalized_scores(answer, NAME), strict=True))
    assert [scores[count] for count in sorted(scores)] == sorted(scores.values(), reverse=True)
    assert scores[min(counts)] == 100
