from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.rebalancing.loading import PolicyRefused, load_policy
from kschedweb.engine.rebalancing.plugins import PLUGINS
from tests.engine.rebalancing.building import policy


def test_yaml_is_read_as_json_is() -> None:
    text = """
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
maxNoOfPodsToEvictTotal: 3
profiles:
- name: p
  pluginConfig:
  - name: PodLifeTime
    args: {maxPodLifeTimeSeconds: 60}
  plugins:
    deschedule: {enabled: [PodLifeTime]}
"""
    loaded = load_policy(text)
    assert loaded.limits.total == 3
    assert [profile.enabled_plugins("deschedule") for profile in loaded.profiles or ()] == [["PodLifeTime"]]


@pytest.mark.parametrize(
    ("document", "expected_error"),
    [
        ("[1", "did not find expected"),
        ("a: 1", "apiVersion: is missing; write descheduler/v1alpha2"),
        ({"apiVersion": "descheduler/v1alpha3"}, 'no kind "DeschedulerPolicy" is registered for version'),
        ({"apiVersion": "descheduler/v1alpha2", "kind": "Pod"}, 'no kind "Pod" is registered for version'),
        (policy("balance", "Nope", {}), "in profile p: plugin Nope in pluginConfig not registered"),
        (policy("balance", "RemoveDuplicates", {"x": 1}), 'strict decoding error: unknown field "x"'),
        (policy("balance", "RemoveDuplicates", {}, maxNoOfPodsToEvictTotal=-1), "of type uint"),
        (policy("balance", "RemoveDuplicates", {}, maxNoOfPodsToEvictTotal=1 << 64), "of type uint"),
        (policy("balance", "HighNodeUtilization", {"thresholds": {"cpu": "a"}}), "of type api.Percentage"),
    ],
)
def test_a_policy_that_cannot_be_taken_is_refused_with_its_reason(document: Any, expected_error: str) -> None:
    with pytest.raises(PolicyRefused) as refused:
        load_policy(document)
    assert expected_error in str(refused.value)


def test_a_priority_class_of_the_cluster_sets_the_threshold() -> None:
    document = policy("balance", "RemoveDuplicates", {}, {"priorityThreshold": {"name": "high"}})
    [profile] = load_policy(document, {"high": 1000}).profiles or []
    assert profile.args["DefaultEvictor"]["priorityThreshold"] == {"value": 1000, "name": ""}


def test_each_plugin_has_its_module_and_says_what_its_arguments_are() -> None:
    for name, spec in PLUGINS.items():
        assert spec.make.__module__.rpartition(".")[2] == name.lower()
        assert all(field.help for field in spec.args.fields if field.name not in ("kind", "apiVersion"))
