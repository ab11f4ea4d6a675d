"""Configurations of every version before v1 become ones of v1 that mean the same."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.config import Loaded, Profile
from kschedweb.engine.config.notes import EQUAL, NEAR, NONE
from kschedweb.engine.releases import RELEASES, load
from kschedweb.engine.releases.older import READ, make_readable
from kschedweb.engine.releases.older.profile import DEFAULTS
from tests.support.printed import GROUP, PRINTED, Printed, of_today

KIND = "KubeSchedulerConfiguration"


def loaded(version: str, **fields: Any) -> Loaded:
    api = version if "/" in version else f"{GROUP}/{version}"
    return load({"apiVersion": api, "kind": KIND, **fields})


def profile(loaded_result: Loaded, index: int = 0) -> Profile:
    assert loaded_result.configuration is not None, loaded_result.errors
    return loaded_result.configuration.profiles[index]


def scores(loaded_result: Loaded) -> dict[str, int]:
    return {ref.name: ref.weight for ref in profile(loaded_result).points["score"]}


def names(loaded_result: Loaded, point: str) -> list[str]:
    return [ref.name for ref in profile(loaded_result).points[point]]


def note(loaded_result: Loaded, path: str, name: str = "") -> tuple[str, str]:
    """The kind and the text of the note at ``path``."""
    assert loaded_result.conversion is not None, loaded_result.errors
    (kind, text), *_ = [
        (entry.kind, entry.text)
        for entry in loaded_result.conversion.notes
        if entry.path == path and name in ("", entry.name)
    ]
    return kind, text


def plugins(**points: Any) -> dict[str, Any]:
    return {"profiles": [{"plugins": points}]}


def on(*entries: tuple[str, int] | str) -> list[dict[str, Any]]:
    return [{"name": entry} if isinstance(entry, str) else {"name": entry[0], "weight": entry[1]} for entry in entries]


@pytest.mark.parametrize("printed", PRINTED, ids=lambda printed: printed.name)
def test_what_the_articles_print_means_the_same_in_v1(printed: Printed) -> None:
    result, today = load(printed.text), load(of_today(printed))
    assert result.errors == []
    assert today.errors == []
    assert result.configuration is not None
    assert today.configuration is not None
    assert result.configuration.profiles == today.configuration.profiles
    assert result.configuration.percentage_of_nodes_to_score == today.configuration.percentage_of_nodes_to_score
    assert result.warnings[0].startswith("apiVersion: ")


@pytest.mark.parametrize(
    "version", [*(api_version for api_version in READ if not api_version.endswith("/v1")), f"{GROUP}/v1"]
)
@pytest.mark.parametrize("release", RELEASES)
def test_every_version_is_read_by_every_release(version: str, release: str) -> None:
    result = load({"apiVersion": version, "kind": KIND}, RELEASES[release])
    assert result.valid
    assert (result.conversion is None) is version.endswith("scheduler.config.k8s.io/v1")


@pytest.mark.parametrize(
    "text",
    [
        f'{{"apiVersion": "{GROUP}/v1beta2", "kind": "{KIND}"}}',
        f"kind: {KIND}\napiVersion: '{GROUP}/v1beta2'\n",
        f"apiVersion: {GROUP}/v1beta2 # old\nkind: {KIND}\n".encode(),
    ],
)
def test_text_of_every_form_is_read(text: str | bytes) -> None:
    result = load(text)
    assert result.valid
    assert result.conversion is not None
    assert result.conversion.version == f"{GROUP}/v1beta2"


def test_what_is_converted_is_v1_itself() -> None:
    result = loaded("v1beta1", **plugins(score={"disabled": on("NodeResourcesLeastAllocated")}))
    assert result.conversion is not None
    assert load(result.conversion.document).configuration == result.configuration


def test_weights_of_then_stay() -> None:
    before = {"InterPodAffinity": 1, "NodeAffinity": 1, "TaintToleration": 1, "PodTopologySpread": 2}
    assert before.items() <= scores(loaded("v1beta2")).items()
    assert (before | {"PodTopologySpread": 1}).items() <= scores(loaded("v1alpha2")).items()
    assert {"NodeAffinity": 2, "TaintToleration": 3}.items() <= scores(loaded("v1beta3")).items()
    kind, text = note(loaded("v1beta2"), "profiles[0].plugins.score", "TaintToleration")
    assert (kind, text) == (EQUAL, "It weighed 1 by default, and weighs 3 now: its weight is written down.")


@pytest.mark.parametrize(
    ("plugin", "strategy"),
    [
        ("NodeResourcesLeastAllocated", {"type": "LeastAllocated"}),
        ("NodeResourcesMostAllocated", {"type": "MostAllocated"}),
        (
            "RequestedToCapacityRatio",
            {
                "type": "RequestedToCapacityRatio",
                "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 10}]},
            },
        ),
    ],
)
def test_plugins_that_scored_by_room_are_strategies(plugin: str, strategy: dict[str, Any]) -> None:
    args = {"resources": on(("cpu", 3)), **strategy.get("requestedToCapacityRatio", {})}
    score = {"disabled": on("NodeResourcesLeastAllocated"), "enabled": on((plugin, 5))}
    config = [{"name": plugin, "args": args}]
    result = loaded("v1beta1", profiles=[{"plugins": {"score": score}, "pluginConfig": config}])
    assert scores(result)["NodeResourcesFit"] == 5
    assert profile(result).args["NodeResourcesFit"]["scoringStrategy"] == {"resources": on(("cpu", 3)), **strategy}
    assert note(result, "profiles[0].plugins.score.enabled[0]")[0] == EQUAL


def test_of_two_that_scored_by_room_the_heavier_stays() -> None:
    result = loaded("v1beta1", **plugins(score={"enabled": on(("NodeResourcesMostAllocated", 4))}))
    assert scores(result)["NodeResourcesFit"] == 4
    assert profile(result).args["NodeResourcesFit"]["scoringStrategy"]["type"] == "MostAllocated"
    lighter = {"enabled": on(("NodeResourcesMostAllocated", 1))}
    result = loaded("v1beta1", **plugins(score=lighter))
    assert profile(result).args["NodeResourcesFit"]["scoringStrategy"]["type"] == "LeastAllocated"
    assert note(result, "profiles[0].plugins.score.enabled[0]")[0] == NONE


def test_no_plugin_that_scores_by_room_is_none_today() -> None:
    result = loaded("v1beta1", **plugins(score={"disabled": on("NodeResourcesLeastAllocated")}))
    assert "NodeResourcesFit" not in scores(result)
    assert "NodeResourcesFit" in names(result, "filter")


def test_pods_without_constraints_are_spread_as_then() -> None:
    arguments = profile(loaded("v1alpha2")).args["PodTopologySpread"]
    assert arguments["defaultingType"] == "System"
    result = loaded("v1alpha2", **plugins(score={"disabled": on("DefaultPodTopologySpread")}))
    arguments = profile(result).args["PodTopologySpread"]
    assert (arguments["defaultingType"], arguments.get("defaultConstraints", [])) == ("List", [])


def test_constraints_of_v1beta1_need_no_type() -> None:
    constraints = [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]
    config = [{"name": "PodTopologySpread", "args": {"defaultConstraints": constraints}}]
    assert profile(loaded("v1beta1", profiles=[{"pluginConfig": config}])).args["PodTopologySpread"][
        "defaultingType"
    ] == ("List")
    assert "defaultingType" in loaded("v1beta2", profiles=[{"pluginConfig": config}]).errors[0]


def test_node_labels_are_node_affinity() -> None:
    args = {"presentLabels": ["ssd"], "absentLabels": ["old"], "presentLabelsPreference": ["fast"]}
    points = {"filter": {"enabled": on("NodeLabel")}, "score": {"enabled": on(("NodeLabel", 7))}}
    result = loaded("v1beta1", profiles=[{"plugins": points, "pluginConfig": [{"name": "NodeLabel", "args": args}]}])
    affinity = profile(result).args["NodeAffinity"]["addedAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [(expression["key"], expression["operator"]) for expression in term["matchExpressions"]] == [
        ("ssd", "Exists"),
        ("old", "DoesNotExist"),
    ]
    (preferred,) = affinity["preferredDuringSchedulingIgnoredDuringExecution"]
    assert (preferred["weight"], preferred["preference"]["matchExpressions"][0]["key"]) == (7, "fast")


@pytest.mark.parametrize("name", ["ServiceAffinity", "NodePreferAvoidPods", "SomebodysOwn"])
def test_what_has_no_counterpart_is_left_out_and_told(name: str) -> None:
    result = loaded("v1beta1", **plugins(score={"enabled": on((name, 3))}))
    assert name not in scores(result)
    assert note(result, "profiles[0].plugins.score.enabled[0]")[0] == NONE


@pytest.mark.parametrize(("point", "default"), DEFAULTS.items())
@pytest.mark.parametrize("version", ["v1alpha2", "v1beta1", "v1beta2", "v1beta3"])
def test_a_default_comes_back_for_an_unknown_plugin_that_had_its_place(version: str, point: str, default: str) -> None:
    if (version, point) == ("v1alpha2", "postFilter"):
        return  # which was no point of it
    plugin_sets = {point: {"enabled": on("Coscheduling"), "disabled": on("*")}}
    result = loaded(version, **plugins(**plugin_sets))
    assert names(result, point) == [default]
    kind, text = note(result, f"profiles[0].plugins.{point}", default)
    assert kind == NEAR
    assert "Coscheduling" in text
    instead = loaded(version, **plugins(**{point: {"enabled": on("Coscheduling"), "disabled": on(default)}}))
    assert default in names(instead, point)
    # What somebody went without stays away, and what was refused is refused.
    without_default = loaded(version, **plugins(**{point: {"disabled": on("*")}}))
    assert names(without_default, point) == [] if point == "postFilter" else without_default.errors


def test_a_default_comes_back_where_multipoint_took_it_away() -> None:
    everywhere = {"enabled": on("Coscheduling"), "disabled": on("PrioritySort")}
    result = loaded("v1beta3", **plugins(multiPoint=everywhere))
    assert names(result, "queueSort") == ["PrioritySort"]
    result = loaded("v1beta3", **plugins(multiPoint={"enabled": on("Somebodys"), "disabled": on("*")}))
    assert {point: names(result, point) for point in ("queueSort", "bind", "postFilter")} == {
        "queueSort": ["PrioritySort"],
        "bind": ["DefaultBinder"],
        "postFilter": [],
    }


def test_a_profile_of_unknown_plugins_alone_is_the_default_one() -> None:
    result = loaded("v1beta3", **plugins(filter={"enabled": on("Somebodys")}, score={"enabled": on("Somebodys")}))
    assert profile(result).points == profile(loaded("v1beta3")).points


def test_limits_of_volumes_are_one_plugin() -> None:
    result = loaded("v1beta2", **plugins(filter={"disabled": on("*"), "enabled": on("EBSLimits", "GCEPDLimits")}))
    assert names(result, "filter") == ["NodeVolumeLimits"]
    result = loaded("v1beta2", **plugins(filter={"disabled": on("EBSLimits")}))
    assert "NodeVolumeLimits" in names(result, "filter")
    assert note(result, "profiles[0].plugins.filter.disabled[0]")[0] == NEAR


def test_a_plugin_is_not_enabled_twice_but_replaced() -> None:
    result = loaded("v1beta1", **plugins(score={"enabled": on(("ImageLocality", 6))}))
    assert scores(result)["ImageLocality"] == 6
    assert "asked to disable it first" in note(result, "profiles[0].plugins.score.enabled[0]")[1]


def test_multipoint_of_v1beta2_did_not_reach_the_default_plugins() -> None:
    result = loaded(
        "v1beta2", **plugins(multiPoint={"enabled": on(("TaintToleration", 9)), "disabled": on("NodeName")})
    )
    assert scores(result)["TaintToleration"] == 1
    assert "NodeName" in names(result, "filter")


def test_v1alpha1_is_one_profile() -> None:
    result = loaded(
        "v1alpha1",
        schedulerName="mine",
        algorithmSource={"provider": "ClusterAutoscalerProvider"},
        hardPodAffinitySymmetricWeight=10,
        bindTimeoutSeconds=30,
        disablePreemption=True,
        healthzBindAddress="0.0.0.0:10251",
        leaderElection={"lockObjectName": "lock", "resourceLock": "endpoints"},
        plugins={"unreserve": {"enabled": on("VolumeBinding")}, "postFilter": {"disabled": on("TaintToleration")}},
    )
    converted = profile(result)
    assert converted.scheduler_name == "mine"
    assert converted.args["NodeResourcesFit"]["scoringStrategy"]["type"] == "MostAllocated"
    assert converted.args["InterPodAffinity"]["hardPodAffinityWeight"] == 10
    assert converted.args["VolumeBinding"]["bindTimeoutSeconds"] == 30
    assert "DefaultPreemption" not in names(result, "postFilter")
    assert "TaintToleration" not in names(result, "preScore")
    assert result.defaulted is not None
    assert result.defaulted["leaderElection"]["resourceName"] == "lock"
    assert result.defaulted["leaderElection"]["resourceLock"] == "leases"
    assert note(result, "healthzBindAddress")[0] == NONE
    assert note(result, "leaderElection.resourceLock")[0] == NEAR


def test_componentconfig_is_read() -> None:
    result = loaded("componentconfig/v1alpha1", algorithmSource={"provider": "DefaultProvider"}, failureDomains="zone")
    assert result.valid
    assert note(result, "failureDomains")[0] == NONE


def test_extenders_of_v1alpha2_are_written_otherwise() -> None:
    extender = {"urlprefix": "http://127.0.0.1:1/x", "filterVerb": "f", "enableHttps": False, "httpTimeout": 2 * 10**9}
    result = loaded("v1alpha2", extenders=[extender])
    assert result.configuration is not None, result.errors
    assert result.configuration.extenders[0]["httpTimeout"] == "2s"
    assert result.configuration.extenders[0]["urlPrefix"] == "http://127.0.0.1:1/x"


@pytest.mark.parametrize(
    ("version", "fields", "path", "expected_error"),
    [
        ("v1beta3", {"healthzBindAddress": "x"}, "healthzBindAddress", 'unknown field "healthzBindAddress"'),
        ("v1beta1", plugins(multiPoint={}), "profiles[0].plugins.multiPoint", "unknown field"),
        ("v1alpha1", {"algorithmSource": {"policy": {"file": {"path": "x"}}}}, "algorithmSource.policy", "that Policy"),
        ("v1alpha1", {"algorithmSource": {"provider": "X"}}, "algorithmSource.provider", "no such provider"),
        ("v1beta2", {"parallelism": 0}, "parallelism", "parallelism"),
        ("v1beta2", {"profiles": {}}, "profiles", "profiles"),
        ("v1alpha1", {"plugins": []}, "plugins", "plugins"),
        (
            "v1alpha1",
            {"leaderElection": {"lockObjectName": "a", "resourceName": "b"}},
            "leaderElection.lockObjectName",
            "do not match",
        ),
    ],
)
def test_what_a_version_did_not_allow_is_refused_at_its_place(
    version: str, fields: dict[str, Any], path: str, expected_error: str
) -> None:
    result = loaded(version, **fields)
    assert not result.valid
    assert [problem.path for problem in result.problems] == [path]
    assert expected_error in result.errors[0]


def test_v1alpha1_passed_over_unknown_fields() -> None:
    result = loaded("v1alpha1", profiles=[], plugins={"preScore": {"disabled": on("*")}})
    assert result.valid
    assert note(result, "profiles")[0] == NONE
    assert names(result, "preScore") != []


@pytest.mark.parametrize("version", [f"{GROUP}/v1beta9", f"{GROUP}/v2", "componentconfig/v1"])
def test_an_unknown_version_names_those_that_are_read(version: str) -> None:
    result = load({"apiVersion": version, "kind": KIND})
    assert not result.valid
    assert all(api_version in result.errors[0] for api_version in READ)
    assert result.problems[0].path == "apiVersion"


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, [None], [3], {"name": 3}, [{"name": 3}], [{"name": "x"}]])
def test_odd_values_are_told_never_raised(odd: Any) -> None:
    for version in READ:
        for fields in (
            {"profiles": odd},
            {"profiles": [{"plugins": odd}]},
            {"profiles": [{"plugins": {"score": odd}}]},
            {"profiles": [{"plugins": {"score": {"enabled": odd, "disabled": odd}, "filter": {"enabled": odd}}}]},
            {"profiles": [{"pluginConfig": odd}]},
            {"profiles": [{"pluginConfig": [{"name": "NodeLabel", "args": odd}]}]},
            {"plugins": odd, "pluginConfig": odd, "algorithmSource": odd, "leaderElection": odd, "extenders": odd},
            {"plugins": {"unreserve": odd, "postFilter": odd}, "kind": odd},
        ):
            result = load({"apiVersion": version, "kind": KIND, **fields})
            assert result.valid or result.errors


def test_marks_of_people_are_comments() -> None:
    remainder = "extenders:\n- urlPrefix: http://127.0.0.1/x\n...\nparallelism: 3\n"
    text = f"apiVersion: {GROUP}/v1beta2\nkind: {KIND}// so\n{remainder}"
    result = load(text)
    assert result.configuration is not None, result.errors
    assert result.configuration.parallelism == 3
    assert result.configuration.extenders[0]["urlPrefix"] == "http://127.0.0.1/x"
    assert make_readable(text.replace("v1beta2", "v1")) == text.replace("v1beta2", "v1")
