from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine import Pod
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.releases.classic import Edition
from tests.engine.builders import node, pod
from tests.engine.releases.classic.support import ZONE, failure, scheduler, verdicts

WORDS = "node(s) didn't match pod affinity/anti-affinity"
RULE = "node(s) didn't match pod affinity rules"
NODES = [node(name, labels={ZONE: name} if name != "c" else {}) for name in "abc"]


def wanting(kind: str, app: str = "web", **term: object) -> dict:
    required = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": app}}, **term}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [required]}}}


def expressing(**expression: object) -> dict:
    return {"matchExpressions": [expression]}


def broken(kind: str, selector: dict | None = None) -> dict:
    """The second of two terms has a selector that cannot be parsed."""
    spec = wanting(kind)
    bad = selector or expressing(key="app", operator="In", values=[])
    spec["affinity"][kind]["requiredDuringSchedulingIgnoredDuringExecution"].append(
        {"topologyKey": ZONE, "labelSelector": bad}
    )
    return spec


def ask(raw: dict, *bound: dict) -> dict:
    return verdicts("MatchInterPodAffinity", raw, *NODES, *bound)


def test_the_rule_that_does_not_hold_is_told_after_the_general_words() -> None:
    web = pod("b", on="a", labels={"app": "web"})
    assert ask(pod("p", **wanting("podAffinity")), web) == {"b": [WORDS, RULE], "c": [WORDS, RULE]}
    anti = ask(pod("p", **wanting("podAntiAffinity")), web)
    assert anti == {"a": [WORDS, "node(s) didn't match pod anti-affinity rules"]}
    guard = pod("b", on="a", **wanting("podAntiAffinity"))
    existing = ask(pod("p", labels={"app": "web"}), guard)
    assert existing == {"a": [WORDS, "node(s) didn't satisfy existing pods anti-affinity rules"]}


def test_the_first_of_its_kind_goes_even_where_the_label_is_missing() -> None:
    assert ask(pod("p", labels={"app": "web"}, **wanting("podAffinity"))) == {}
    assert list(ask(pod("p", **wanting("podAffinity")))) == ["a", "b", "c"]


def test_namespaces_are_named_and_never_selected() -> None:
    web = pod("b", on="a", labels={"app": "web"})
    web["metadata"]["namespace"] = "other"
    assert list(ask(pod("p", **wanting("podAffinity", namespaceSelector={})), web)) == ["a", "b", "c"]
    assert list(ask(pod("p", **wanting("podAffinity", namespaces=["other"])), web)) == ["b", "c"]


def test_in_1_9_each_term_may_hold_by_another_pod() -> None:
    terms = [{"topologyKey": ZONE, "labelSelector": {"matchLabels": {key: "x"}}} for key in ("left", "right")]
    both: dict = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
    bound = [pod("l", on="a", labels={"left": "x"}), pod("r", on="a", labels={"right": "x"})]
    rejected_by_version = {
        version: list(verdicts("MatchInterPodAffinity", pod("p", **both), *NODES, *bound, edition=Edition(version)))
        for version in ("1.13", "1.9")
    }
    assert rejected_by_version == {"1.13": ["a", "b", "c"], "1.9": ["b", "c"]}


def test_in_1_9_a_term_that_means_no_pod_but_this_one_holds() -> None:
    old = Edition("1.9")
    selfish_pod = pod("p", labels={"app": "web"}, **wanting("podAffinity"))
    assert verdicts("MatchInterPodAffinity", selfish_pod, *NODES, edition=old) == {}
    another = pod("p", **wanting("podAffinity"))
    assert verdicts("MatchInterPodAffinity", another, *NODES, edition=old) == {
        name: ["MatchInterPodAffinity", "PodAffinityRulesNotMatch"] for name in "abc"
    }
    unplaced = pod("b", on="c", labels={"app": "web"})
    assert list(verdicts("MatchInterPodAffinity", selfish_pod, *NODES, unplaced, edition=old)) == ["a", "b", "c"]


FAULT = "for 'in', 'notin' operators, values set can't be empty"


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (expressing(key="app", operator="In", values=[]), FAULT),
        (expressing(key="a", operator="Gt", values=["1"]), '"Gt" is not a valid pod selector operator'),
        (expressing(key="a b", operator="Exists"), 'invalid label key "a b": name part must consist'),
        ({"matchLabels": {"a": "c d!"}}, 'invalid label value: "c d!": a valid label must be an empty string or'),
    ],
)
def test_affinity_that_cannot_be_parsed_fails_where_there_are_pods(selector: dict, words: str) -> None:
    """All as the real 1.13 answers; it reads the terms when it compares them with a pod."""
    raw, web = pod("p", **broken("podAffinity", selector)), pod("b", on="a", labels={"app": "web"})
    with pytest.raises(CycleError) as caught:
        scheduler(*NODES, web).explain(Pod.from_json(raw))
    for name in "abc":
        assert f"Cannot schedule pod default/p onto node {name}, because of PodAffinity, err: {words}" in str(
            caught.value
        )
    assert ask(raw) == {name: [WORDS, RULE] for name in "abc"}


def test_anti_affinity_that_cannot_be_parsed_rejects_where_there_are_pods() -> None:
    web = pod("b", on="a", labels={"app": "web"})
    verdicts_by_node = {name: [WORDS, "node(s) didn't match pod anti-affinity rules"] for name in "abc"}
    assert ask(pod("p", **broken("podAntiAffinity")), web) == verdicts_by_node
    assert ask(pod("p", **broken("podAntiAffinity"))) == {}


def test_anti_affinity_of_a_placed_pod_that_cannot_be_parsed_fails_for_every_pod() -> None:
    guard = pod("b", on="a", **broken("podAntiAffinity"))
    message = f"Failed to get all terms that pod default/p matches, err: {FAULT}"
    assert failure("MatchInterPodAffinity", pod("p"), *NODES, guard) == message
    engine = scheduler(*NODES, guard)
    with pytest.raises(CycleError, match=message):
        engine.explain(Pod.from_json(pod("p")))
    engine.snapshot.remove_pod("default/b")
    assert engine.explain(Pod.from_json(pod("p"))).node


def test_a_namespace_selector_that_cannot_be_parsed_was_no_field_then() -> None:
    web = pod("b", on="a", labels={"app": "web"})
    term: Any = {"namespaceSelector": {"matchExpressions": [{"key": "a b", "operator": "Exists"}]}}
    assert list(ask(pod("p", **wanting("podAffinity", **term)), web)) == ["b", "c"]


@pytest.mark.parametrize("bound", [(), (pod("b", on="a"),)])
def test_in_1_9_terms_are_read_whether_or_not_there_are_pods(bound: tuple[dict, ...]) -> None:
    old = Edition("1.9")
    with pytest.raises(CycleError, match=FAULT):
        scheduler(*NODES, *bound, edition=old).explain(Pod.from_json(pod("p", **broken("podAffinity"))))
    anti = verdicts("MatchInterPodAffinity", pod("p", **broken("podAntiAffinity")), *NODES, *bound, edition=old)
    assert list(anti) == ["a", "b", "c"]
