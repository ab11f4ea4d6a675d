"""From a policy to the profile that replaces it, and what is told of each of its items."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.config import Configuration
from kschedweb.engine.releases import load
from kschedweb.engine.releases.classic import ClassicPolicy, Edition, PolicyError, Registry, load_policy
from kschedweb.engine.releases.classic.catalogue import (
    CINDER,
    NO_EXECUTE,
    RESOURCE_LIMITS,
    TAINT_NODES_BY_CONDITION,
    V1_9,
)
from kschedweb.engine.releases.classic.conversion import Conversion, convert_policy
from tests.conformance.making.policies import PolicyMaker
from tests.engine.releases.classic.support import POLICY
from tests.support import tiers

EDITIONS = [
    Edition(),
    Edition(V1_9),
    Edition(gates=frozenset({TAINT_NODES_BY_CONDITION, RESOURCE_LIMITS, NO_EXECUTE, CINDER})),
    Edition(V1_9, frozenset({TAINT_NODES_BY_CONDITION}), max_volumes=20, percentage=30),
]
# Which plugin's weight is that of the priority.
SCORED_BY = {
    "SelectorSpreadPriority": "PodTopologySpread",
    "ServiceSpreadingPriority": "PodTopologySpread",
    "InterPodAffinityPriority": "InterPodAffinity",
    "LeastRequestedPriority": "NodeResourcesFit",
    "MostRequestedPriority": "NodeResourcesFit",
    "RequestedToCapacityRatioPriority": "NodeResourcesFit",
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "NodeAffinityPriority": "NodeAffinity",
    "TaintTolerationPriority": "TaintToleration",
    "ImageLocalityPriority": "ImageLocality",
}


def read(**fields: Any) -> ClassicPolicy:
    loaded = load_policy({**POLICY, **fields})
    assert loaded.policy is not None, loaded.errors
    return loaded.policy


def ready(conversion: Conversion) -> Configuration:
    loaded = load(conversion.document)
    assert loaded.configuration is not None, loaded.errors
    return loaded.configuration


def weights(conversion: Conversion) -> dict[str, int]:
    return {plugin.name: plugin.weight for plugin in ready(conversion).profiles[0].points["score"]}


def filters(conversion: Conversion) -> list[str]:
    return [plugin.name for plugin in ready(conversion).profiles[0].points["filter"]]


def kinds(conversion: Conversion) -> dict[str, str]:
    return {note.name: note.kind for note in conversion.notes}


@st.composite
def known_policies(draw: st.DrawFn) -> tuple[ClassicPolicy, Edition]:
    """A policy that can run, and the edition in which it can."""
    edition = draw(st.sampled_from(EDITIONS))
    maker = PolicyMaker(draw(st.randoms(use_true_random=False)), odd=0.1)
    raw = maker.policy()
    names = {"predicates": edition.predicates, "priorities": edition.priorities}
    for key, good in names.items():
        if key in raw:
            raw[key] = [entry for entry in raw[key] if "argument" in entry or entry["name"] in good]
    policy = read(**raw)
    try:
        Registry(edition).build_algorithm(policy)
    except PolicyError:  # a name is that of a predicate and of a priority
        return ClassicPolicy(), edition
    return policy, edition


@settings(max_examples=tiers.count(80, 500), deadline=None)
@given(known_policies())
def test_what_comes_out_is_valid_and_tells_of_every_item_once(
    policy_and_edition: tuple[ClassicPolicy, Edition],
) -> None:
    policy, edition = policy_and_edition
    conversion = convert_policy(policy, edition)
    ready(conversion)
    notes_by_path = Counter(note.path for note in conversion.notes)
    expected = {f"extenders[{number}]" for number in range(len(policy.extenders))}
    for key, choices in (("predicates", policy.predicates), ("priorities", policy.priorities)):
        if choices is not None:
            expected |= {f"{key}[{number}]" for number in range(len(choices))}
            names = [(f"{key}[{number}]", choice.name) for number, choice in enumerate(choices)]
            assert set(names) == {(note.path, note.name) for note in conversion.notes if note.path.startswith(key)}
        elif not edition.old:
            expected.add(key)
    expected |= {"hardPodAffinitySymmetricWeight"} if policy.hard_pod_affinity_weight else set()
    expected |= {"alwaysCheckAllPredicates"} if policy.always_check_all else set()
    assert set(notes_by_path) == expected
    assert all(count == 1 for path, count in notes_by_path.items() if path not in ("predicates", "priorities"))
    assert sum(conversion.counts.values()) == len(conversion.notes)


@settings(max_examples=tiers.count(40, 200), deadline=None)
@given(known_policies())
def test_weights_are_those_of_the_policy(policy_and_edition: tuple[ClassicPolicy, Edition]) -> None:
    policy, edition = policy_and_edition
    conversion = convert_policy(policy, edition)
    if policy.priorities is None:
        return
    scored = weights(conversion)
    last = {choice.name: choice.weight for choice in policy.priorities}
    argued = {choice.name for choice in policy.priorities if choice.argument is not None}
    for note in conversion.notes:
        if note.path.startswith("priorities") and note.plugins and note.name not in argued:
            assert scored[SCORED_BY[note.name]] == min(last[note.name], 2**31 - 1), note
            assert note.plugins == (SCORED_BY[note.name],)


@settings(max_examples=tiers.count(20, 100), deadline=None)
@given(known_policies())
def test_the_same_policy_gives_the_same_profile(policy_and_edition: tuple[ClassicPolicy, Edition]) -> None:
    assert convert_policy(*policy_and_edition) == convert_policy(*policy_and_edition)


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_default_provider_is_converted_too(edition: Edition) -> None:
    conversion = convert_policy(None, edition)
    assert {note.name for note in conversion.notes} == edition.default_predicates | set(edition.default_priorities)
    assert {note.path for note in conversion.notes} == {"predicates", "priorities"}
    assert ready(conversion).percentage_of_nodes_to_score == edition.share


def test_the_weights_of_the_default_set_are_those_of_1_22() -> None:
    assert weights(convert_policy(None)) == {
        "NodeResourcesBalancedAllocation": 1,
        "PodTopologySpread": 2,
        "ImageLocality": 1,
        "InterPodAffinity": 1,
        "NodeResourcesFit": 1,
        "NodeAffinity": 1,
        "TaintToleration": 1,
    }


def test_predicates_that_taints_stand_for_make_no_plugin_of_their_own() -> None:
    predicates = [{"name": "CheckNodeMemoryPressure"}, {"name": "CheckNodeCondition"}]
    conversion = convert_policy(read(predicates=predicates, priorities=[]))
    assert filters(conversion) == ["NodeUnschedulable", "TaintToleration", "DynamicResources"]
    assert kinds(conversion) == {"CheckNodeMemoryPressure": "near", "CheckNodeCondition": "near"}


def test_what_no_policy_could_leave_out_is_told_of() -> None:
    conversion = convert_policy(read(predicates=[], priorities=[]))
    remark_names = {remark.name for remark in conversion.remarks}
    assert {"TaintToleration", "NodeUnschedulable", "SchedulingGates", "PrioritySort", "DefaultBinder"} <= remark_names
    assert conversion.summary == "There is no rule that anything has to stand for."


def test_version_1_9_took_nothing_where_a_policy_said_nothing() -> None:
    conversion = convert_policy(read(), Edition(V1_9))
    assert conversion.notes == ()
    assert weights(conversion) == {}


def labels(presence: bool, *names: str) -> dict[str, Any]:
    return {"labelsPresence": {"labels": list(names), "presence": presence}}


def affinity(conversion: Conversion) -> dict[str, Any]:
    plugin_config = conversion.document["profiles"][0]["pluginConfig"]
    return next(entry["args"]["addedAffinity"] for entry in plugin_config if entry["name"] == "NodeAffinity")


def test_labels_that_nodes_must_have_are_added_to_every_pod() -> None:
    predicates = [
        {"name": "CheckNodeLabelPresence", "argument": labels(True, "zone", "rack")},
        {"name": "GeneralPredicates"},
        {"name": "Retiring", "argument": labels(False, "retiring")},
    ]
    conversion = convert_policy(read(predicates=predicates, priorities=[]))
    (term,) = affinity(conversion)["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "zone", "operator": "Exists"},
        {"key": "rack", "operator": "Exists"},
        {"key": "retiring", "operator": "DoesNotExist"},
    ]
    assert kinds(conversion) == {"CheckNodeLabelPresence": "equal", "GeneralPredicates": "near", "Retiring": "near"}
    assert "never asked" in conversion.notes[2].text
    assert kinds(convert_policy(read(predicates=predicates, priorities=[]), Edition(V1_9)))["Retiring"] == "equal"


def test_a_label_predicate_alone_brings_the_pods_own_selectors_with_it() -> None:
    predicates = [{"name": "CheckNodeLabelPresence", "argument": labels(True, "zone")}]
    (note,) = convert_policy(read(predicates=predicates, priorities=[])).notes
    assert (note.kind, "own node selectors" in note.text) == ("near", True)


def test_a_label_that_no_node_can_have_is_not_written_down() -> None:
    predicates = [{"name": name, "argument": labels(name == "Must", "not a label")} for name in ("Must", "MustNot")]
    conversion = convert_policy(read(predicates=predicates, priorities=[]), Edition(V1_9))
    assert kinds(conversion) == {"Must": "none", "MustNot": "equal"}
    assert "pluginConfig" not in conversion.document["profiles"][0]


def preference(name: str, weight: int, label: str, presence: bool = True) -> dict[str, Any]:
    return {"name": name, "weight": weight, "argument": {"labelPreference": {"label": label, "presence": presence}}}


def test_preferred_labels_weigh_what_they_weighed_together() -> None:
    conversion = convert_policy(
        read(predicates=[], priorities=[preference("One", 3, "disk"), preference("Two", 9, "old", False)])
    )
    assert weights(conversion) == {"NodeAffinity": 12}
    assert affinity(conversion)["preferredDuringSchedulingIgnoredDuringExecution"] == [
        {"weight": 3, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}},
        {"weight": 9, "preference": {"matchExpressions": [{"key": "old", "operator": "DoesNotExist"}]}},
    ]
    assert set(kinds(conversion).values()) == {"near"}


def test_heavy_preferences_keep_their_proportion_and_the_weight_of_the_priority_stays() -> None:
    node_affinity = {"name": "NodeAffinityPriority", "weight": 4}
    conversion = convert_policy(
        read(predicates=[], priorities=[preference("One", 20, "disk"), preference("Two", 2000, "old"), node_affinity])
    )
    assert weights(conversion) == {"NodeAffinity": 4}
    terms = affinity(conversion)["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [term["weight"] for term in terms] == [1, 100]


def test_of_several_strategies_the_heaviest_stays() -> None:
    shape = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}
    priorities = [
        {"name": "LeastRequestedPriority", "weight": 2},
        {"name": "Mine", "weight": 5, "argument": {"requestedToCapacityRatioArguments": shape}},
        {"name": "MostRequestedPriority", "weight": 5},
    ]
    conversion = convert_policy(read(predicates=[], priorities=priorities))
    assert weights(conversion) == {"NodeResourcesFit": 5}
    (plugin_config,) = conversion.document["profiles"][0]["pluginConfig"]
    assert plugin_config["args"]["scoringStrategy"]["requestedToCapacityRatio"] == shape
    assert kinds(conversion) == {"LeastRequestedPriority": "none", "Mine": "near", "MostRequestedPriority": "none"}


def test_a_curve_without_points_is_the_one_of_that_time() -> None:
    conversion = convert_policy(
        read(predicates=[], priorities=[{"name": "RequestedToCapacityRatioPriority", "weight": 1}])
    )
    (plugin_config,) = conversion.document["profiles"][0]["pluginConfig"]
    assert plugin_config["args"]["scoringStrategy"]["requestedToCapacityRatio"]["shape"] == [
        {"utilization": 0, "score": 10},
        {"utilization": 100, "score": 0},
    ]


def test_an_entry_whose_name_comes_again_did_nothing() -> None:
    priorities = [{"name": "LeastRequestedPriority", "weight": weight} for weight in (7, 2)]
    conversion = convert_policy(read(predicates=[], priorities=priorities))
    assert weights(conversion) == {"NodeResourcesFit": 2}
    assert [(note.kind, "priorities[1]" in note.text) for note in conversion.notes] == [
        ("equal", True),
        ("near", False),
    ]


def test_a_weight_that_is_too_great_is_cut_and_told_of() -> None:
    conversion = convert_policy(read(predicates=[], priorities=[{"name": "LeastRequestedPriority", "weight": 2**31}]))
    assert weights(conversion) == {"NodeResourcesFit": 2**31 - 1}
    assert "cut to 2147483647" in conversion.notes[0].text


def test_extenders_are_carried_over_without_their_private_keys() -> None:
    extender = {
        "urlPrefix": "https://gpu.example.com/scheduler",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 4,
        "enableHttps": True,
        "httpTimeout": 1_500_000_000,
        "tlsConfig": {"serverName": "gpu", "certFile": "/etc/cert.pem", "keyData": "c2VjcmV0"},
        "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}],
    }
    conversion = convert_policy(read(predicates=[], priorities=[], extenders=[extender]))
    assert conversion.document["extenders"] == [
        {
            "urlPrefix": "https://gpu.example.com/scheduler",
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "weight": 4,
            "httpTimeout": "1.5s",
            "enableHTTPS": True,
            "tlsConfig": {"serverName": "gpu", "certFile": "/etc/cert.pem"},
            "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}],
        }
    ]
    assert "c2VjcmV0" not in str(conversion)
    assert "private key" in conversion.notes[0].text


def test_switches_are_told_of() -> None:
    priorities = [{"name": "InterPodAffinityPriority", "weight": 1}]
    switches = {"alwaysCheckAllPredicates": True, "hardPodAffinitySymmetricWeight": 7}
    conversion = convert_policy(read(predicates=[], priorities=priorities, **switches))
    (plugin_config,) = conversion.document["profiles"][0]["pluginConfig"]
    assert plugin_config == {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 7}}
    assert kinds(conversion)["alwaysCheckAllPredicates"] == "none"
    assert kinds(conversion)["hardPodAffinitySymmetricWeight"] == "equal"


def test_a_policy_that_cannot_run_is_not_converted() -> None:
    with pytest.raises(PolicyError, match="Nope"):
        convert_policy(read(predicates=[{"name": "Nope"}]))


def test_what_the_profile_could_not_start_with_is_not_converted() -> None:
    extender = {"urlPrefix": "https://x", "tlsConfig": {"insecure": True, "caFile": "/etc/ca.pem"}}
    with pytest.raises(PolicyError, match="root certificates"):
        convert_policy(read(extenders=[extender]))
