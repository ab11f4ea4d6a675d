from __future__ import annotations

from kschedweb.engine.releases.classic import Edition
from tests.engine.builders import node, pod
from tests.engine.releases.classic.support import ZONE, verdicts

WORDS = "node(s) didn't match pod affinity/anti-affinity"
RULE = "node(s) didn't match pod affinity rules"
NODES = [node(name, labels={ZONE: name} if name != "c" else {}) for name in "abc"]


def wanting(kind: str, app: str = "web", **term: object) -> dict:
    required = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": app}}, **term}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [required]}}}


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
    found = {
        version: list(verdicts("MatchInterPodAffinity", pod("p", **both), *NODES, *bound, edition=Edition(version)))
        for version in ("1.13", "1.9")
    }
    assert found == {"1.13": ["a", "b", "c"], "1.9": ["b", "c"]}


def test_in_1_9_a_term_that_means_no_pod_but_this_one_holds() -> None:
    old = Edition("1.9")
    own = pod("p", labels={"app": "web"}, **wanting("podAffinity"))
    assert verdicts("MatchInterPodAffinity", own, *NODES, edition=old) == {}
    another = pod("p", **wanting("podAffinity"))
    assert verdicts("MatchInterPodAffinity", another, *NODES, edition=old) == {
        name: ["MatchInterPodAffinity", "PodAffinityRulesNotMatch"] for name in "abc"
    }
    unplaced = pod("b", on="c", labels={"app": "web"})
    assert list(verdicts("MatchInterPodAffinity", own, *NODES, unplaced, edition=old)) == ["a", "b", "c"]
