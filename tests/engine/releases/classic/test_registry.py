"""From policies to what runs: the default provider, editions and switches, and what one process remembers."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.releases import load
from kschedweb.engine.releases.classic import Algorithm, Edition, PolicyError, Registry, classic_release, load_policy
from kschedweb.engine.releases.classic.catalogue import (
    CINDER,
    EDITION,
    NO_EXECUTE,
    RESOURCE_LIMITS,
    TAINT_NODES_BY_CONDITION,
    V1_9,
)
from kschedweb.engine.releases.classic.predicates.node import CheckNodeLabelPresence
from kschedweb.engine.releases.classic.priorities.spreading import InterPodAffinityPriority
from tests.engine.releases.classic.support import POLICY

# The names of predicates that article 000 uses; today's code calls most of them otherwise.
ARTICLE_PREDICATES = {
    *("CheckNodeConditionPred", "CheckNodeDiskPressurePred", "CheckNodeLabelPresencePred"),
    *("CheckNodeMemoryPressurePred", "CheckNodePIDPressurePred", "CheckNodeUnschedulablePred"),
    *("CheckServiceAffinityPred", "CheckVolumeBindingPred", "GeneralPred", "HostNamePred"),
    *("MatchInterPodAffinityPred", "MatchNodeSelectorPred", "MaxAzureDiskVolumeCountPred", "MaxCSIVolumeCountPred"),
    *("MaxCinderVolumeCountPred", "MaxEBSVolumeCountPred", "MaxGCEPDVolumeCountPred", "MaxGCEPxDVolumeCountPred"),
    *("NoDiskConflictPred", "NoVolumeZoneConflictPred", "PodFitsHostPortsPred", "PodFitsResourcesPred"),
    *("PodToleratesNodeNoExecuteTaintsPred", "PodToleratesNodeTaintsPred"),
}
# As article 000 lists them.
DEFAULT_PREDICATES = {
    *("NoVolumeZoneConflict", "MaxEBSVolumeCount", "MaxGCEPDVolumeCount", "MaxAzureDiskVolumeCount"),
    *("MaxCSIVolumeCountPred", "MatchInterPodAffinity", "NoDiskConflict", "GeneralPredicates"),
    *("CheckNodeMemoryPressure", "CheckNodeDiskPressure", "CheckNodePIDPressure", "CheckNodeCondition"),
    *("PodToleratesNodeTaints", "CheckVolumeBinding"),
}
DEFAULT_PRIORITIES = {
    *("SelectorSpreadPriority", "InterPodAffinityPriority", "LeastRequestedPriority", "BalancedResourceAllocation"),
    *("NodePreferAvoidPodsPriority", "NodeAffinityPriority", "TaintTolerationPriority", "ImageLocalityPriority"),
}


def algorithm(registry: Registry, **fields: Any) -> Algorithm:
    loaded = load_policy({**POLICY, **fields})
    assert loaded.policy is not None, loaded.errors
    return registry.build_algorithm(loaded.policy)


def names(plugins: list[Any]) -> list[str]:
    return [plugin.name for plugin in plugins]


def test_the_default_provider_is_the_one_the_article_lists() -> None:
    built = Registry().build_algorithm()
    assert set(names(built.predicates)) == DEFAULT_PREDICATES
    assert names(built.predicates)[0] == "CheckNodeCondition"
    assert names(built.predicates)[-1] == "MatchInterPodAffinity"
    assert names(built.priorities) == sorted(DEFAULT_PRIORITIES)
    assert built.weights == dict.fromkeys(sorted(DEFAULT_PRIORITIES), 1) | {"NodePreferAvoidPodsPriority": 10000}


def test_predicates_run_in_the_fixed_order_and_others_never() -> None:
    presence = {"labelsPresence": {"labels": ["x"], "presence": True}}
    predicates = [
        {"name": "HostName"},
        {"name": "PodFitsPorts"},
        {"name": "GeneralPredicates"},
        {"name": "Mine", "argument": presence},
    ]
    built = algorithm(Registry(), predicates=predicates)
    assert names(built.predicates) == ["CheckNodeCondition", "GeneralPredicates", "HostName"]
    assert built.never_asked == ("Mine", "PodFitsPorts")


def test_an_argument_takes_the_place_of_the_predicate_of_its_name() -> None:
    presence = {"labelsPresence": {"labels": ["x"], "presence": True}}
    (predicate,) = algorithm(Registry(), predicates=[{"name": "CheckNodeCondition", "argument": presence}]).predicates
    assert isinstance(predicate, CheckNodeLabelPresence)
    assert (predicate.name, predicate.labels) == ("CheckNodeCondition", ["x"])


@pytest.mark.parametrize(
    ("fields", "path", "expected_error"),
    [
        (
            {"predicates": [{"name": "Nope"}]},
            "predicates[0].name",
            "Invalid configuration: Predicate type not found for Nope",
        ),
        (
            {"priorities": [{"name": "EqualPriority", "weight": 1}, {"name": "Nope", "weight": 1}]},
            "priorities[1].name",
            "Invalid configuration: Priority type not found for Nope",
        ),
        ({"predicates": [{"name": CINDER}]}, "predicates[0].name", f"Predicate type not found for {CINDER}"),
        (
            {
                "priorities": [
                    {"name": "EqualPriority", "weight": (2**63 - 1) // 10 - 1},
                    {"name": "LeastRequestedPriority", "weight": 5},
                ]
            },
            "priorities",
            "Total priority of priority functions has overflown",
        ),
    ],
)
def test_what_cannot_run_is_told_with_its_place(fields: dict, path: str, expected_error: str) -> None:
    with pytest.raises(PolicyError) as caught:
        algorithm(Registry(), **fields)
    (problem,) = caught.value.problems
    assert problem.path == path
    assert expected_error in problem.text


def test_weights_stay_known_to_later_policies_of_one_process() -> None:
    registry = Registry()
    algorithm(registry, priorities=[{"name": "LeastRequestedPriority", "weight": 7}])
    assert registry.build_algorithm().weights["LeastRequestedPriority"] == 7
    assert registry.find_leftovers() == ["LeastRequestedPriority"]
    assert Registry().build_algorithm().weights["LeastRequestedPriority"] == 1


def test_a_policy_that_fails_registers_nothing() -> None:
    registry = Registry()
    with pytest.raises(PolicyError):
        algorithm(registry, priorities=[{"name": "LeastRequestedPriority", "weight": 7}, {"name": "Nope", "weight": 1}])
    assert registry.find_leftovers() == []


def test_the_hard_weight_of_the_policy_goes_before_that_of_the_command_line() -> None:
    for policy_weight, expected in ((0, 30), (5, 5)):
        registry = Registry(Edition(hard_pod_affinity_weight=30))
        built = algorithm(registry, hardPodAffinitySymmetricWeight=policy_weight)
        (affinity,) = [priority for priority in built.priorities if priority.name == "InterPodAffinityPriority"]
        assert isinstance(affinity, InterPodAffinityPriority)
        assert affinity.hard_weight == expected


def test_switches_bring_what_is_behind_them() -> None:
    gates = frozenset({TAINT_NODES_BY_CONDITION, RESOURCE_LIMITS, NO_EXECUTE, CINDER})
    built = Registry(Edition(gates=gates)).build_algorithm()
    replaced_predicates = {
        "CheckNodeCondition",
        "CheckNodeMemoryPressure",
        "CheckNodeDiskPressure",
        "CheckNodePIDPressure",
    }
    assert set(names(built.predicates)) == DEFAULT_PREDICATES - replaced_predicates | {"CheckNodeUnschedulable"}
    assert set(names(built.priorities)) == DEFAULT_PRIORITIES | {"ResourceLimitsPriority"}
    more = algorithm(Registry(Edition(gates=gates)), predicates=[{"name": CINDER}, {"name": NO_EXECUTE}])
    assert set(names(more.predicates)) == {CINDER, NO_EXECUTE, "CheckNodeUnschedulable", "PodToleratesNodeTaints"}


def test_1_9_knew_less_asked_everything_and_filled_in_nothing() -> None:
    registry = Registry(Edition(V1_9))
    built = registry.build_algorithm()
    assert set(names(built.predicates)) == DEFAULT_PREDICATES - {"MaxCSIVolumeCountPred", "CheckNodePIDPressure"}
    assert set(names(built.priorities)) == DEFAULT_PRIORITIES - {"ImageLocalityPriority"}
    assert built.always_check_all
    bare = algorithm(registry)
    assert (names(bare.predicates), bare.priorities) == (["CheckNodeCondition"], [])
    assert algorithm(registry, predicates=[{"name": "PodFitsPorts"}]).never_asked == ()
    with pytest.raises(PolicyError, match="RequestedToCapacityRatioPriority"):
        algorithm(registry, priorities=[{"name": "RequestedToCapacityRatioPriority", "weight": 1}])


@pytest.mark.parametrize(
    ("key", "name", "expected_hint"),
    [
        ("predicates", "GeneralPred", "you mean GeneralPredicates;"),
        ("predicates", "HostNamePred", "you mean HostName;"),
        ("predicates", "NoVolumeZoneConflictPred", "you mean NoVolumeZoneConflict;"),
        ("predicates", "MatchInterPodAffinityPred", "you mean MatchInterPodAffinity;"),
        ("predicates", "MaxGCEPxDVolumeCountPred", "you mean MaxGCEPDVolumeCount;"),
        ("predicates", "CheckServiceAffinityPred", "you mean CheckServiceAffinity, but it needs an argument;"),
        ("predicates", "MaxCinderVolumeCountPred", f"you mean {CINDER}, but it has to be switched on;"),
        ("predicates", CINDER, f"not found for {CINDER}; it has to be switched on;"),
        ("priorities", "LeastRequested", "you mean LeastRequestedPriority;"),
        ("predicates", "SomethingElse", "not found for SomethingElse; known without"),
    ],
)
def test_a_name_as_articles_write_it_gets_the_one_that_is_meant(key: str, name: str, expected_hint: str) -> None:
    with pytest.raises(PolicyError) as caught:
        algorithm(Registry(), **{key: [{"name": name, "weight": 1}]})
    assert expected_hint in str(caught.value)


def test_every_name_that_an_article_lists_is_known_or_gets_one() -> None:
    for name in ARTICLE_PREDICATES - EDITION.predicates:
        with pytest.raises(PolicyError, match="you mean"):
            algorithm(Registry(), predicates=[{"name": name}])


def test_a_classic_release_reads_policies_as_others_read_configurations() -> None:
    release = classic_release(Edition(gates=frozenset({"TaintNodesByCondition"})))
    assert release is classic_release(Edition(gates=frozenset({"TaintNodesByCondition"})))
    assert release.title == "kube-scheduler 1.13.0 with TaintNodesByCondition=true"
    loaded = load('{"kind": "Policy",\n"priorities": [{"name": "EqualPriority", "weight": 2}]}', release)
    assert isinstance(loaded.configuration, Algorithm)
    assert loaded.configuration.weights == {"EqualPriority": 2}
    assert loaded.defaulted is not None
    assert {"name": "CheckNodeUnschedulable"} in loaded.defaulted["predicates"]
    assert load(None, release).valid
    wrong = load('{"kind": "Policy",\n"priorities": [{"name": "Equal", "weight": 0}]}', release)
    assert [problem.path for problem in wrong.problems] == ["priorities[0].weight"]
    assert wrong.line("priorities[0].weight") == 2
