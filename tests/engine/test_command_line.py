from __future__ import annotations

import io
import json

import pytest

from kschedweb import __version__
from kschedweb.engine.__main__ import main
from kschedweb.engine.releases import CURRENT, RELEASES
from tests.engine.builders import CONFIGURATION, node, pod
from tests.engine.gangs import ON, THREE_CPUS, group, member, members

SCENARIO = {"name": "two", "objects": [node("a"), node("b")], "pending": [pod("p", requests={"cpu": "3"}), pod("q")]}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    """``run(arguments, text)``: exit status, answers, stderr."""

    def run(arguments: list[str], text: str) -> tuple[int, list[dict], str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        status = main(arguments)
        out, err = capsys.readouterr()
        return status, [json.loads(line) for line in out.splitlines()], err

    return run


def test_explain_answers_each_scenario_on_a_line(run) -> None:
    text = json.dumps(SCENARIO) + "\n\n" + json.dumps({**SCENARIO, "name": "again"}) + "\n"
    status, answers, err = run(["explain"], text)
    assert (status, err) == (0, "")
    assert [answer["name"] for answer in answers] == ["two", "again"]
    assert answers[0]["nodeOrder"] == ["a", "b"]
    assert answers[0]["pods"][0]["chosen"] == "a"


def test_of_a_release_that_is_not_known_the_nearest_answers_with_a_warning(run) -> None:
    warning = "kube-scheduler 1.33 is not known here: 1.34, the nearest release, answers."
    for arguments, scenario in (
        (["schedule", "--release", "1.33"], SCENARIO),
        (["schedule"], {**SCENARIO, "release": "1.33"}),
    ):
        status, answers, err = run(arguments, json.dumps(scenario))
        assert (status, len(answers)) == (0, 1)
        assert warning in err
    assert warning in run(["validate", "--release", "1.33"], "")[1][0]["warnings"]
    assert run(["schedule", "--release", "soon"], json.dumps(SCENARIO))[0] == 2


@pytest.mark.parametrize("command", [["explain"], ["schedule"], ["schedule", "--summary"]])
def test_an_answer_says_which_kube_scheduler_it_is_as(run, command: list[str]) -> None:
    gates = {"GenericWorkload": True}
    process_and_engine: list[tuple[dict, str]] = [
        ({}, CURRENT.engine),
        ({"release": "1.36", "featureGates": gates}, RELEASES["1.36"].with_gates(gates).engine),
        ({"classic": True}, f"kschedweb {__version__}, kube-scheduler 1.13.0"),
    ]
    text = "\n".join(json.dumps({**SCENARIO, **process}) for process, _ in process_and_engine)
    assert [answer["engine"] for answer in run(command, text)[1]] == [engine for _, engine in process_and_engine]


def test_the_mode_may_be_given_on_the_command_line(run) -> None:
    text = json.dumps(SCENARIO)
    assert run(["explain", "--mode", "sequence"], text)[1][0]["pods"][1]["chosen"] == "b"
    assert run(["explain"], text)[1][0]["pods"][1]["chosen"] == "a"


def test_schedule_places_one_pod_after_the_other(run) -> None:
    placements = run(["schedule"], json.dumps(SCENARIO))[1][0]["placements"]
    assert [placement["node"] for placement in placements] == ["a", "b"]


def test_a_summary_counts_and_times(run) -> None:
    big = {**SCENARIO, "pending": [*SCENARIO["pending"], pod("r", requests={"cpu": "9"})]}
    summary = run(["schedule", "--summary"], json.dumps(big))[1][0]
    assert (summary["Pods"], summary["Scheduled"], summary["Failed"]) == (3, 2, 1)
    assert summary["P50"] <= summary["P99"] <= summary["Seconds"] * 1000


def test_validate_gives_the_defaulted_configuration_or_the_errors(run) -> None:
    status, answers, _ = run(["validate"], json.dumps(CONFIGURATION))
    assert (status, answers[0]["valid"], answers[0]["defaulted"]["parallelism"]) == (0, True, 16)
    answers = run(["validate"], json.dumps({**CONFIGURATION, "parallelism": -1}))[1]
    assert answers[0]["errors"] == ["parallelism: Invalid value: -1: should be an integer value greater than zero"]


@pytest.mark.parametrize(
    ("text", "expected_error"),
    [
        ("{", "line 1: is not JSON"),
        ("[]", "line 1: must be a JSON object"),
        ("[" * 100_000, "line 1: is not JSON"),
        ('\n{"name": "x", "objects": 1}', "line 2: x: objects: must be a list"),
        (
            '{"name": "x", "objects": [{"kind": "Node"}]}',
            "line 1: x: objects: Node (no name): metadata.name: is missing",
        ),
        ('{"objects": [{"kind": "Pod", "metadata": {"name": "p"}}]}', "has no nodeName: list it under pending"),
        ('{"pending": [{"kind": "Node"}]}', "pending[0]: must be a Pod"),
        ('{"classic": {"version": "1.8"}}', 'classic.version: must be "1.13" or "1.9", is "1.8"'),
        ('{"mode": "all"}', 'mode: must be "each" or "sequence"'),
        ('{"name": 5}', "name: must be a string"),
        ('{"preempt": "yes"}', "preempt: must be true or false"),
        (json.dumps({"pending": [pod("p"), pod("p")]}), "pending[1]: Pod default/p: is listed twice"),
        (
            json.dumps({"objects": [node("a"), pod("p", nodeName="a")], "pending": [pod("p")]}),
            "pending[0]: Pod default/p: is listed twice",
        ),
        ('{"config": {"kind": "Nope"}}', "config: "),
    ],
)
def test_bad_input_is_one_line_that_says_where(run, text: str, expected_error: str) -> None:
    status, answers, err = run(["explain"], text)
    assert status == 2
    assert answers == []
    assert expected_error in err
    assert err.count("\n") == 1


V1_9 = ["--classic", '{"version": "1.9"}']
OLD_POLICY = {"kind": "Policy", "apiVersion": "v1", "predicate": [{"name": "HostName"}], "priorities": []}


def test_convert_gives_the_profile_of_a_policy_and_what_differs(run) -> None:
    status, (answer,), err = run(["convert"], json.dumps(OLD_POLICY))
    assert (status, err) == (0, "")
    assert [note["name"] for note in answer["notes"]] == ["HostName"]
    assert answer["warnings"][0].startswith('predicate: is read as "predicates"')
    assert run(["validate"], json.dumps(answer["document"]))[1][0]["valid"]


def test_convert_takes_no_policy_for_the_default_provider_of_the_version(run) -> None:
    names = [{note["name"] for note in run(["convert", *more], "")[1][0]["notes"]} for more in ([], V1_9)]
    assert names[0] - names[1] == {"CheckNodePIDPressure", "MaxCSIVolumeCountPred", "ImageLocalityPriority"}


@pytest.mark.parametrize(
    ("arguments", "text", "expected_error"),
    [
        ([], "{", "JSON"),
        ([], "[]", "must be an object of kind Policy"),
        ([], '{"predicates": [{"name": "Nope"}]}', "predicates[0].name: Invalid configuration"),
        ([], '{"priorities": [{"name": "EqualPriority"}]}', "priorities[0].weight: Priority EqualPriority should"),
        (["--classic", "{"], "", "--classic: is not JSON"),
        (["--classic", '{"version": "1.8"}'], "", 'classic.version: must be "1.13" or "1.9"'),
    ],
)
def test_what_cannot_be_converted_is_one_line_that_says_why(
    run, arguments: list[str], text: str, expected_error: str
) -> None:
    status, answers, err = run(["convert", *arguments], text)
    assert (status, answers, err.count("\n")) == (2, [], 1)
    assert expected_error in err


GANG = {
    "release": "1.37",
    "featureGates": ON,
    "objects": [node("a"), group("gang", 2), group("big", 2)],
    "pending": [member("p"), pod("alone", requests={"cpu": "2"}), *members(2, "big", requests=THREE_CPUS), member("q")],
}


def test_schedule_places_a_group_as_one_where_the_first_of_its_pods_stands(run) -> None:
    answer = run(["schedule"], json.dumps(GANG))[1][0]
    assert [placement.get("node") for placement in answer["placements"]] == ["a", "a", None, None, "a"]
    assert [(group_answer["group"], group_answer["placed"]) for group_answer in answer["groups"]] == [
        ("default/gang", True),
        ("default/big", False),
    ]
    assert answer["groups"][1]["blocking"] == "default/big-0"


def test_explain_says_of_a_group_whether_it_would_fit_and_what_keeps_it_waiting(run) -> None:
    answer = run(["explain"], json.dumps({**GANG, "pending": [member("p"), *members(2, "big", requests=THREE_CPUS)]}))[
        1
    ][0]
    gang, big = answer["groups"]
    assert gang["held"] == "waiting for minCount pods from a gang to appear in scheduling queue"
    assert (big["held"], big["placed"], big["blocking"]) == ("", False, "default/big-1")
    assert big["domains"][0]["pods"][0]["node"] == "a"


def test_explain_in_sequence_asks_about_a_group_before_any_of_its_pods_is_bound(run) -> None:
    pending = [member("p"), pod("alone", requests={"cpu": "2"}), member("q")]
    answer = run(["explain", "--mode", "sequence"], json.dumps({**GANG, "pending": pending}))[1][0]
    (gang,) = answer["groups"]
    assert (gang["placed"], gang["blocking"], gang["condition"]["status"]) == (True, "", "True")
    assert [pod_answer["node"] for pod_answer in gang["pods"]] == ["a", "a"]
    assert [pod_answer.get("chosen") for pod_answer in answer["pods"]] == ["a", "a", "a"]


def test_explain_in_sequence_takes_back_the_pods_of_a_group_that_is_not_placed(run) -> None:
    pending = [*members(2, "big", requests=THREE_CPUS), pod("after", requests={"cpu": "2"})]
    answer = run(["explain", "--mode", "sequence"], json.dumps({**GANG, "pending": pending}))[1][0]
    assert [(group_answer["placed"], group_answer["blocking"]) for group_answer in answer["groups"]] == [
        (False, "default/big-1")
    ]
    assert [pod_answer.get("chosen") for pod_answer in answer["pods"]] == [
        "a",
        None,
        "a",
    ]  # as the group's cycle sees them


def test_condition_says_the_node_or_the_whole_message_and_the_node_nominated(run) -> None:
    low, two = pod("low", on="a", requests={"cpu": "4"}), {"cpu": "2"}
    pending = [pod("high", requests=two, priority=5), pod("p", requests=two), pod("q")]
    scenario = {"objects": [node("a"), low], "pending": pending}
    status, (answer,), err = run(["condition"], json.dumps(scenario))
    assert (status, err, answer["engine"]) == (0, "", CURRENT.engine)
    short = "0/1 nodes are available: 1 Insufficient cpu. preemption: "
    preemption_message = "found a potential placement for pod on node a, preempting 1 victims"
    none = "0/1 nodes are available: 1 No preemption victims found for incoming pod."
    assert answer["pods"] == [
        {"pod": "default/high", "message": short + preemption_message, "nominated": "a"},
        {"pod": "default/p", "message": short + none},
        {"pod": "default/q", "node": "a"},
    ]
    (classic,) = run(["condition"], json.dumps({**scenario, "classic": True}))[1]
    assert [pod_answer.get("nominated") for pod_answer in classic["pods"]] == ["a", None, None]


def test_condition_of_a_pod_in_a_group_is_what_the_cycle_of_the_group_says(run) -> None:
    pending = [*members(2, "big", requests=THREE_CPUS), pod("alone", requests=THREE_CPUS), member("p")]
    (answer,) = run(["condition"], json.dumps({**GANG, "pending": pending}))[1]
    first, _, alone, waiting = answer["pods"]
    assert first["message"].startswith("pod group is unschedulable, minCount (2) cannot be satisfied")
    assert alone["node"] == "a"
    assert waiting["message"] == "waiting for minCount pods from a gang to appear in scheduling queue"


def test_with_the_gate_off_there_are_no_groups(run) -> None:
    answer = run(["schedule"], json.dumps({**GANG, "featureGates": {}}))[1][0]
    assert [placement.get("node") for placement in answer["placements"]] == ["a", "a", None, None, "a"]
    assert "groups" not in answer


def test_a_pod_takes_the_overhead_of_its_runtime_class_or_is_told(run) -> None:
    heavy = {"kind": "RuntimeClass", "metadata": {"name": "heavy"}, "overhead": {"podFixed": {"cpu": "2"}}}
    asks = pod("p", requests={"cpu": "3"}, runtimeClassName="heavy")
    scenario = {"name": "x", "objects": [node("a"), heavy], "pending": [asks]}
    status, answers, err = run(["schedule"], json.dumps(scenario))
    assert (status, err) == (0, "")
    assert "Insufficient cpu" in answers[0]["placements"][0]["message"]
    status, answers, err = run(["schedule"], json.dumps({**scenario, "objects": [node("a")]}))
    assert answers[0]["placements"][0]["node"] == "a"
    assert 'Pod default/p: pod rejected: RuntimeClass "heavy" not found: it is taken as it is' in err


def test_a_pod_that_was_not_admitted_has_the_priority_of_its_class(run) -> None:
    high = {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    asks, low = pod("p", requests={"cpu": "4"}, priorityClassName="high"), pod("low", on="a", requests={"cpu": "4"})
    scenario = {"name": "x", "objects": [node("a"), low, high], "pending": [asks]}
    status, (answer,), err = run(["condition"], json.dumps(scenario))
    assert (status, err, answer["pods"][0]["nominated"]) == (0, "", "a")
    plain = {**scenario, "pending": [pod("p", requests={"cpu": "4"})]}
    assert "nominated" not in run(["condition"], json.dumps(plain))[1][0]["pods"][0]
    default = {**plain, "objects": [node("a"), low, {**high, "globalDefault": True}]}
    low["spec"]["priority"] = 0  # it was admitted before the class was there
    assert run(["condition"], json.dumps(default))[1][0]["pods"][0]["nominated"] == "a"
    answers, err = run(["condition"], json.dumps({**scenario, "objects": [node("a"), low]}))[1:]
    assert "nominated" not in answers[0]["pods"][0]
    assert "Pod default/p: no PriorityClass with name high was found: it is taken as it is" in err


FILED = {
    **CONFIGURATION,
    "profiles": [
        {
            "plugins": {"multiPoint": {"enabled": [{"name": "Dynamic"}]}},
            "pluginConfig": [{"name": "Dynamic", "args": {"policyConfigPath": "/etc/policy.yaml"}}],
        }
    ],
}
POLICY_FILE = """\
apiVersion: scheduler.policy.crane.io/v1alpha1
kind: DynamicSchedulerPolicy
spec:
  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]
  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.5}]
"""


def test_files_that_arguments_point_at_are_passed_in(run, tmp_path) -> None:
    place = tmp_path / "crane.yaml"
    place.write_text(POLICY_FILE)
    option = ["--file", f"/etc/policy.yaml={place}"]
    status, [answer], _ = run(["validate", *option], json.dumps(FILED))
    assert (status, answer["valid"]) == (0, True)
    [args] = [
        entry["args"] for entry in answer["defaulted"]["profiles"][0]["pluginConfig"] if entry["name"] == "Dynamic"
    ]
    assert args["policy"]["predicate"] == [{"name": "cpu_usage_avg_5m", "maxLimitPecent": 0.5}]
    busy = node("a")
    busy["metadata"]["annotations"] = {"cpu_usage_avg_5m": "0.60000,2099-01-01T20:00:00Z"}
    scenario = {**SCENARIO, "objects": [busy, node("b")], "config": FILED}
    for arguments, raw in ((option, scenario), ([], {**scenario, "files": {"/etc/policy.yaml": POLICY_FILE}})):
        _, [placed], _ = run(["explain", *arguments], json.dumps(raw))
        assert placed["pods"][0]["chosen"] == "b", placed
    # The shipped policy lets up to 65 % pass.
    assert run(["explain"], json.dumps(scenario))[1][0]["pods"][1]["feasible"] == ["a", "b"]


@pytest.mark.parametrize(
    "option", ["policy.yaml", "=policy.yaml", "/etc/policy.yaml=", "/etc/policy.yaml=nowhere.yaml"]
)
def test_a_file_that_is_not_there_is_told(run, option: str) -> None:
    status, _, err = run(["validate", "--file", option], json.dumps(FILED))
    assert status == 2
    assert f"--file {option}: " in err
