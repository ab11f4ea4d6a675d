"""Every error of a document is put at the line where it was made, in kube-scheduler's words."""

from __future__ import annotations

import pytest

from kschedweb.policies.validation import check_profiles, join_path, split_path

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PLUGIN = "profiles:\n- plugins:\n    {point}:\n      enabled:\n      - name: {name}\n"
AFFINITY = "profiles:\n- pluginConfig:\n  - name: InterPodAffinity\n    args:\n      hardPodAffinityWeight: 101\n"
ARGS = "profiles[0].pluginConfig[0].args"
FIT = """\
profiles:
  - schedulerName: a
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
"""


@pytest.mark.parametrize(
    ("text", "path", "line", "message"),
    [
        ("parallelism: 0\n", "parallelism", 3, "should be an integer value greater than zero"),
        ("parallelism: x\n", "parallelism", 3, "cannot unmarshal string"),
        ("percentOfNodes: 3\n", "percentOfNodes", 3, 'unknown field "percentOfNodes"'),
        ("profiles:\n- schedulerName: a\n- percentageOfNodesToScore: 5\n", "profiles[1].schedulerName", 5, "Required"),
        (PLUGIN.format(point="score", name="NodePorts"), "profiles[0].plugins.score.enabled[0]", 7, "does not extend"),
        (PLUGIN.format(point="filter", name="Nope"), "profiles[0].plugins.filter.enabled[0]", 7, "does not exist"),
        (FIT + "            type: Most\n", f"{ARGS}.scoringStrategy.type", 9, "Unsupported value"),
        (FIT + "            typ: Most\n", f"{ARGS}.scoringStrategy.typ", 9, "unknown field"),
        (AFFINITY, f"{ARGS}.hardPodAffinityWeight", 7, "not in valid range"),
        ("parallelism: 4\nparallelism: 5\n", "", 4, "already set"),
        ("profiles: [\n", "", 4, "not YAML"),
    ],
)
def test_an_error_is_put_where_it_was_made(text: str, path: str, line: int, message: str) -> None:
    verdict = check_profiles(HEADER + text)
    (problem,) = verdict.errors
    assert not verdict.valid
    assert (problem.path, problem.line) == (path, line)
    assert message in problem.message


def test_an_error_in_what_an_alias_brings_is_put_at_the_anchors_text() -> None:
    shared_arguments = AFFINITY.replace("- pluginConfig:", "- schedulerName: a\n  pluginConfig: &arguments")
    checked = check_profiles(f"{HEADER}{shared_arguments}- {{schedulerName: b, pluginConfig: *arguments}}\n")
    weight = "pluginConfig[0].args.hardPodAffinityWeight"
    assert [(problem.path, problem.line, problem.column) for problem in checked.errors] == [
        (f"profiles[0].{weight}", 8, 30),
        (f"profiles[1].{weight}", 8, 30),
    ]


def test_several_errors_of_one_plugin_are_told_apart() -> None:
    shape = "            type: RequestedToCapacityRatio\n            requestedToCapacityRatio:\n              shape:\n"
    points = "              - {utilization: 0, score: 11}\n              - {utilization: 101, score: 1}\n"
    checked = check_profiles(HEADER + FIT + shape + points)
    assert [(problem.path.rpartition("shape")[2], problem.line) for problem in checked.errors] == [
        ("[0].score", 12),
        ("[1].utilization", 13),
    ]


def test_a_warning_has_its_line_too() -> None:
    checked = check_profiles(HEADER + "profiles:\n- pluginConfig:\n  - name: Elsewhere\n    args: {}\n")
    assert checked.valid
    assert [problem.line for problem in checked.warnings] == [5]


def test_paths_and_their_steps_are_the_same_thing() -> None:
    path = "profiles[0].plugins.score.enabled[12].name"
    assert join_path(split_path(path)) == path
