"""crane-scheduler's policy file: read strictly, and taken where policyConfigPath points."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kschedweb.engine.config.files import list_pointed_files
from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.engine.plugins.dynamic.policyfile import API_VERSION, KIND, load_policy_file, shipped_policy
from kschedweb.engine.releases import CURRENT, MOST_FILES, ReleaseError, get_release, load
from kschedweb.engine.state.watermarks.crane import SAMPLE_POLICY

PATH = "/etc/kubernetes/policy.yaml"
SPEC: dict[str, Any] = {
    "syncPolicy": [{"name": "cpu_usage_avg_5m", "period": "3m0s"}],
    "predicate": [{"name": "cpu_usage_avg_5m", "maxLimitPecent": 0.65}],
    "priority": [{"name": "cpu_usage_avg_5m", "weight": 0.2}],
    "hotValue": [{"timeRange": "5m0s", "count": 5}],
}


def file(**changes: Any) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": KIND, "spec": SPEC, **changes}


def pointing(**args: Any) -> dict[str, Any]:
    """A configuration whose Dynamic points at PATH."""
    profile = {
        "plugins": {"multiPoint": {"enabled": [{"name": "Dynamic"}]}},
        "pluginConfig": [{"name": "Dynamic", "args": {"policyConfigPath": PATH, **args}}],
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }


def policy(document: dict[str, Any], text: str | None = None) -> Any:
    loaded = load(document, get_release("", files={PATH: text} if text is not None else {}))
    assert loaded.configuration is not None, loaded.errors
    return loaded.configuration.profiles[0].args["Dynamic"]["policy"]


@pytest.mark.parametrize("write", [as_yaml, json.dumps])
def test_yaml_and_json_say_the_same(write: Any) -> None:
    assert load_policy_file(write(file())).spec == SPEC


def test_the_shipped_file_is_the_default() -> None:
    loaded = load_policy_file(as_yaml(shipped_policy()))
    assert (loaded.spec, loaded.errors, loaded.warnings) == (SAMPLE_POLICY, [], [])


@pytest.mark.parametrize(
    ("document", "path", "expected_problem"),
    [
        (file(kind="Policy"), "kind", f'no kind "Policy" is registered for version "{API_VERSION}" in scheme'),
        (file(apiVersion="v1"), "apiVersion", f'no kind "{KIND}" is registered for version "v1" in scheme'),
        ({"spec": SPEC}, "kind", "Object 'Kind' is missing in"),
        (file(more=1), "more", 'unknown field "more"'),
        (file(spec={"hotvalue": []}), "spec.hotvalue", 'unknown field "spec.hotvalue"'),
        (
            file(spec={"syncPolicy": [{"name": "a", "period": 3}]}),
            "spec.syncPolicy[0].period",
            "cannot unmarshal number",
        ),
        (file(spec={"syncPolicy": [{"name": "a", "period": "3"}]}), "spec.syncPolicy[0].period", "missing unit"),
        (file(spec={"priority": [{"weight": 1}]}), "spec.priority[0].name", "must name a metric"),
        (file(spec={"hotValue": [{"timeRange": "1m"}]}), "spec.hotValue[0].count", "must not be 0"),
    ],
)
def test_what_is_refused_is_told_at_its_field(document: dict[str, Any], path: str, expected_problem: str) -> None:
    loaded = load_policy_file(json.dumps(document))
    assert loaded.policy is None
    [problem] = loaded.problems
    assert (problem.path, expected_problem in problem.text) == (path, True), problem


def test_text_that_is_none_and_repeated_keys_are_told() -> None:
    assert load_policy_file("a: b: c").errors
    [error] = load_policy_file(as_yaml(file()) + f"kind: {KIND}\n").errors
    assert "already set in map" in error


def test_the_file_counts_where_the_path_points_and_no_policy_is_written() -> None:
    assert policy(pointing(), as_yaml(file())) == SPEC
    assert policy(pointing(policy={"hotValue": SPEC["hotValue"]}), as_yaml(file())) == {"hotValue": SPEC["hotValue"]}
    assert policy(pointing()) == SAMPLE_POLICY


def test_what_a_file_means_survives_its_own_defaults() -> None:
    loaded = load(pointing(), get_release("", files={PATH: as_yaml(file())}))
    assert loaded.configuration is not None
    assert policy(loaded.configuration.document) == SPEC


def test_what_is_said_of_the_file() -> None:
    def list_warnings(document: dict[str, Any], files: dict[str, str]) -> list[str]:
        return [
            warning
            for warning in load(document, get_release("", files=files)).warnings
            if "policyConfigPath" in warning
        ]

    assert list_warnings(pointing(), {PATH: as_yaml(file())}) == []
    assert '"/etc/kubernetes/policy.yaml" is not known here, so the default counts' in list_warnings(pointing(), {})[0]
    assert len(list_warnings(pointing(policy=SPEC), {PATH: as_yaml(file())})) == 1


def test_a_file_that_cannot_be_read_is_told_in_cranes_words_at_the_path() -> None:
    loaded = load(pointing(), get_release("", files={PATH: as_yaml(file(spec={"more": 1}))}))
    [problem] = loaded.problems
    assert problem.path == "profiles[0].pluginConfig[0].args.policyConfigPath"
    assert loaded.errors == [
        'initializing profiles: creating profile for scheduler name default-scheduler: initializing plugin "Dynamic": '
        'failed to get scheduler policy from config file: strict decoding error: unknown field "spec.more"'
    ]


@pytest.mark.parametrize(
    "files",
    [
        {PATH: 3},
        {str(number): "" for number in range(MOST_FILES + 1)},
        {PATH: "x" * (1 << 20 | 1)},
        [1],
        {PATH: "\0"},
        {"\ud800": ""},
    ],
)
def test_files_are_texts_and_not_too_many(files: Any) -> None:
    with pytest.raises(ReleaseError, match="files: "):
        get_release("", files=files)


def test_paths_are_found_in_documents_of_any_form() -> None:
    assert list(list_pointed_files(pointing(), CURRENT)) == [(PATH, "Dynamic")]
    odd: list[Any] = [None, [], {"profiles": 3}, {"profiles": [3, {"pluginConfig": [{"name": "Dynamic", "args": 3}]}]}]
    for broken in odd:
        assert list(list_pointed_files(broken, CURRENT)) == []
