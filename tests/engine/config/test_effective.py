"""The effective configuration: which plugins run where, in which order, with which weight and arguments."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.config import Configuration, PluginRef, Profile
from kschedweb.engine.config.schema import EXTENSION_POINTS
from kschedweb.engine.releases import CURRENT, load

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
DEFAULT_SCORES = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "VolumeBinding": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}


def configuration(**fields: Any) -> Configuration:
    loaded = load({**HEAD, **fields})
    assert loaded.errors == []
    assert loaded.configuration is not None
    return loaded.configuration


def profile(plugins: dict[str, Any] | None = None, **fields: Any) -> Profile:
    return configuration(profiles=[{"plugins": plugins, **fields}]).profiles[0]


def names(profile: Profile, point: str) -> list[str]:
    return [ref.name for ref in profile.points[point]]


def scores(profile: Profile) -> dict[str, int]:
    return {ref.name: ref.weight for ref in profile.points["score"]}


def test_without_a_document_the_defaults_of_kube_scheduler_hold() -> None:
    loaded = load(None)
    assert loaded.configuration is not None
    ready = loaded.configuration
    default = ready.profiles[0]

    assert default.scheduler_name == "default-scheduler"
    assert default.percentage_of_nodes_to_score is None
    assert (ready.percentage_of_nodes_to_score, ready.parallelism, ready.extenders) == (0, 16, ())
    assert list(default.points) == list(EXTENSION_POINTS)
    assert scores(default) == DEFAULT_SCORES
    assert list(scores(default)) == list(DEFAULT_SCORES)
    assert names(default, "preEnqueue") == ["SchedulingGates", "DynamicResources", "DefaultPreemption"]
    assert names(default, "queueSort") == ["PrioritySort"]
    assert names(default, "filter") == [
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    ]
    assert names(default, "postFilter") == ["DynamicResources", "DefaultPreemption"]
    assert names(default, "permit") == names(default, "postBind") == []
    assert default.args["InterPodAffinity"]["hardPodAffinityWeight"] == 1
    assert ready.find_profile("default-scheduler") is default
    assert ready.find_profile("other") is None


def test_a_plugin_listed_at_score_comes_first_and_a_disabled_one_leaves() -> None:
    changed = profile(
        {"score": {"enabled": [{"name": "ImageLocality", "weight": 5}], "disabled": [{"name": "TaintToleration"}]}}
    )
    expected = DEFAULT_SCORES | {"ImageLocality": 5}
    del expected["TaintToleration"]
    assert scores(changed) == expected
    assert names(changed, "score")[0] == "ImageLocality"
    # Scoring is off, but what prepares it still runs.
    assert "TaintToleration" in names(changed, "preScore")
    assert "TaintToleration" in names(changed, "filter")


def test_a_weight_at_multi_point_replaces_the_default_in_place() -> None:
    changed = profile({"multiPoint": {"enabled": [{"name": "ImageLocality", "weight": 9}]}})
    assert scores(changed) == DEFAULT_SCORES | {"ImageLocality": 9}
    assert names(changed, "score") == list(DEFAULT_SCORES)


def test_a_plugin_disabled_and_enabled_at_multi_point_moves_to_the_end() -> None:
    changed = profile(
        {"multiPoint": {"enabled": [{"name": "NodeName"}], "disabled": [{"name": "NodeName"}, {"name": "NodePorts"}]}}
    )
    assert names(changed, "filter")[-1] == "NodeName"
    assert "NodePorts" not in names(changed, "filter")


def test_filters_listed_explicitly_come_before_the_defaults() -> None:
    changed = profile({"filter": {"enabled": [{"name": "NodePorts"}, {"name": "NodeName"}]}})
    assert names(changed, "filter")[:4] == ["NodePorts", "NodeName", "NodeUnschedulable", "TaintToleration"]


def test_disabling_everything_leaves_what_is_listed() -> None:
    listed = [
        {"name": "PrioritySort"},
        {"name": "DefaultBinder"},
        {"name": "NodeResourcesFit", "weight": 7},
        {"name": "ImageLocality"},
    ]
    changed = profile({"multiPoint": {"disabled": [{"name": "*"}], "enabled": listed}})
    assert changed.points["filter"] == (PluginRef("NodeResourcesFit"),)
    assert scores(changed) == {"NodeResourcesFit": 7, "ImageLocality": 1}
    assert set(changed.args) == {"NodeResourcesFit"}


def test_the_weight_at_score_wins_over_multi_point_and_zero_counts_as_one() -> None:
    changed = profile(
        {
            "multiPoint": {"enabled": [{"name": "ImageLocality", "weight": 7}, {"name": "NodeAffinity", "weight": 0}]},
            "score": {"enabled": [{"name": "ImageLocality", "weight": 3}]},
        }
    )
    assert (scores(changed)["ImageLocality"], scores(changed)["NodeAffinity"]) == (3, 1)


def test_arguments_are_plain_json_after_defaults() -> None:
    args = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu"}]}}
    changed = profile(
        pluginConfig=[{"name": "NodeResourcesFit", "args": args}, {"name": "Other", "args": {"x": [1.5]}}]
    )
    assert changed.args["NodeResourcesFit"]["scoringStrategy"] == {
        "type": "MostAllocated",
        "resources": [{"name": "cpu", "weight": 1}],
    }
    assert changed.args["Other"] == {"x": [1.5]}
    assert changed.args["DynamicResources"]["bindingTimeout"] == "10m0s"


def test_resources_that_an_extender_manages_alone_replace_the_ignored_ones() -> None:
    fit = {"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/old"]}}
    managed = [{"name": "example.com/gpu", "ignoredByScheduler": True}, {"name": "example.com/nic"}]
    ready = configuration(
        profiles=[{"schedulerName": "a", "pluginConfig": [fit]}, {"schedulerName": "b"}],
        extenders=[{"urlPrefix": "http://127.0.0.1:1", "filterVerb": "f", "managedResources": managed}],
    )
    assert [profile.args["NodeResourcesFit"]["ignoredResources"] for profile in ready.profiles] == [
        ["example.com/gpu"]
    ] * 2
    assert ready.extenders[0]["httpTimeout"] == "5s"
    # The document that is downloaded keeps what was written.
    plugin_args = ready.document["profiles"][0]["pluginConfig"][0]["args"]
    assert plugin_args["ignoredResources"] == ["example.com/old"]


def test_every_plugin_is_described() -> None:
    assert all(spec.help.endswith(".") and spec.help.count(".") == 1 for spec in CURRENT.registry.specs.values())


plugin_names = st.sampled_from(sorted(CURRENT.in_tree_plugins.specs))
plugin_sets = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.lists(
            st.fixed_dictionaries({"name": plugin_names}, optional={"weight": st.integers(0, 100)}),
            max_size=4,
            unique_by=lambda plugin: plugin["name"],
        ),
        "disabled": st.lists(st.fixed_dictionaries({"name": plugin_names | st.just("*")}), max_size=3),
    },
)


@given(st.dictionaries(st.sampled_from([*EXTENSION_POINTS, "multiPoint"]), plugin_sets, max_size=4))
def test_the_effective_plugins_obey_the_sets(plugins: dict[str, Any]) -> None:
    loaded = load({**HEAD, "profiles": [{"plugins": plugins}]})
    if loaded.configuration is None:
        assert loaded.errors[0].startswith(("initializing profiles: ", "profiles[0].plugins.queueSort.Enabled: "))
        return
    points = loaded.configuration.profiles[0].points
    for point in EXTENSION_POINTS:
        running = [ref.name for ref in points[point]]
        explicit = [plugin["name"] for plugin in plugins.get(point, {}).get("enabled", ())]
        off = {plugin["name"] for plugin in plugins.get(point, {}).get("disabled", ())}
        assert len(running) == len(set(running))
        assert all(point in CURRENT.in_tree_plugins.specs[name].points for name in running)
        assert set(explicit) <= set(running)
        assert set(running) - set(explicit) <= (set() if "*" in off else set(CURRENT.in_tree_plugins.specs) - off)
    reloaded = load(loaded.configuration.document)
    assert reloaded.configuration == loaded.configuration
