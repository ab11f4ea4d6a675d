"""The command ``gate``: exit statuses, files in and out, and one line where something is wrong."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kschedweb.engine.__main__ import main
from tests.conftest import ROOT
from tests.engine.studies.gates import PACKED, cluster

Run = Callable[..., tuple[int, str, str]]
AWARE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Dynamic}]}}
  pluginConfig: [{name: Dynamic, args: {policyConfigPath: /etc/crane.yaml}}]
"""
SCENARIO = """\
name: one more workload
base: {snapshot: any}
changes:
- addWorkload:
    replicas: 4
    manifest:
      kind: Deployment
      metadata: {name: more}
      spec: {template: {spec: {containers: [{name: main, resources: {requests: {cpu: 500m}}}]}}}
run: {place: pending}
"""


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("--policy", …)`` in a folder with policy.yaml, cluster.json, defaults.yaml: status, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(PACKED)
    Path("defaults.yaml").write_text("\n".join(PACKED.splitlines()[:2]))
    Path("cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": cluster()}))

    def run(*options: str) -> tuple[int, str, str]:
        status = main(["gate", *options])
        out, err = capsys.readouterr()
        return status, out, err

    return run


ON = ("--policy", "policy.yaml", "--snapshot", "cluster.json")


def test_it_exits_with_0_where_all_is_kept_and_with_1_where_not(run: Run) -> None:
    status, out, err = run(*ON)
    assert (status, json.loads(out)["verdict"], err) == (0, "pass", "")
    status, out, err = run(*ON, "--max-moved", "10%")
    assert (status, json.loads(out)["verdict"], err) == (1, "fail", "")
    verdict = json.loads(out)
    assert (verdict["policy"], verdict["baseline"], verdict["about"]) == (
        "policy.yaml",
        "kube-scheduler's defaults",
        "cluster.json",
    )
    assert verdict["thresholds"] == {"maxNewlyUnschedulable": 0.0, "maxMoved": "10%"}


def test_the_baseline_may_be_a_file(run: Run) -> None:
    assert run(*ON, "--max-moved", "0", "--baseline", "policy.yaml")[0] == 0
    status, out, _ = run(*ON, "--max-moved", "0", "--baseline", "defaults.yaml")
    assert (status, json.loads(out)["baseline"]) == (1, "defaults.yaml")


def test_a_classic_policy_is_known_by_its_content(run: Run) -> None:
    Path("old.json").write_text('{"kind": "Policy", "priorities": [{"name": "MostRequestedPriority", "weight": 1}]}')
    arguments = ("--policy", "old.json", "--snapshot", "cluster.json", "--max-newly-unschedulable", "any")
    verdict = json.loads(run(*arguments)[1])
    assert verdict["engine"].endswith("kube-scheduler 1.13.0")
    assert verdict["baseline"] == "kube-scheduler's defaults as kube-scheduler 1.13.0"
    other = json.loads(
        run(*arguments, "--release", "1.9", "--baseline", "policy.yaml", "--baseline-release", "1.36")[1]
    )
    assert other["engine"].endswith("kube-scheduler 1.9.2")
    assert other["upgrade"] is None
    status, _, err = run(*arguments, "--release", "1.36")
    assert status == 2
    assert err.strip().endswith('--release: version: must be "1.13" or "1.9", is "1.36"')


def test_the_verdict_is_written_to_a_file_also_where_it_fails(run: Run) -> None:
    status, out, _ = run(*ON, "--max-moved", "0", "--format", "junit", "--output", "verdict.xml")
    assert (status, out) == (1, "")
    assert ElementTree.parse("verdict.xml").getroot().get("failures") == "1"
    assert run(*ON, "--output", "verdict.xml", "--output", "verdict.md", "--output", "verdict.json")[:2] == (0, "")
    assert ElementTree.parse("verdict.xml").getroot().get("failures") == "0"
    assert Path("verdict.md").read_text() == run(*ON, "--format", "markdown")[1]
    assert Path("verdict.json").read_text() == run(*ON)[1]
    assert run(*ON, "--format", "markdown")[1].startswith("## ✅")


def test_every_threshold_has_an_option_and_a_key_in_a_file(run: Run) -> None:
    options = ["--max-newly-unschedulable", "any", "--max-moved", "7", "--max-pending", "1"]
    options += ["--max-skew-increase", "99.5", "--measure", "skew_cpu_end:max=80,maxChange=1000%"]
    by_option = json.loads(run(*ON, *options, "--measure", "nodes_empty:min=1")[1])
    thresholds = {
        "maxNewlyUnschedulable": "any",
        "maxMoved": 7.0,
        "maxPending": 1,
        "maxSkewIncrease": 99.5,
        "measures": {"skew_cpu_end": {"max": 80.0, "maxChange": "1000%"}, "nodes_empty": {"min": 1.0}},
    }
    assert by_option["thresholds"] == thresholds
    Path("thresholds.json").write_text(json.dumps(thresholds))
    assert json.loads(run(*ON, "--thresholds", "thresholds.json")[1]) == by_option
    Path("thresholds.yaml").write_text("maxMoved: 0\nmeasures: {skew_cpu_end: {max: 10, maxChange: 1000%}}\n")
    mixed = run(*ON, "--thresholds", "thresholds.yaml", "--max-moved", "6", "--measure", "skew_cpu_end:max=80")
    assert mixed[0] == 0
    assert json.loads(mixed[1])["thresholds"]["measures"] == {"skew_cpu_end": {"max": 80.0, "maxChange": "1000%"}}


def test_pods_with_a_node_may_keep_it(run: Run) -> None:
    verdict = json.loads(run(*ON, "--place", "pending")[1])
    assert (verdict["pods"], verdict["notes"]) == (0, ["no pod had to be scheduled, so nothing was tried"])


PRICES = """\
apiVersion: kschedweb/v1
kind: PriceTable
currency: EUR
prices:
- {labels: {kubernetes.io/hostname: node-0}, price: 4}
- {labels: {topology.kubernetes.io/zone: z0}, price: 1}
- {labels: {topology.kubernetes.io/zone: z1}, price: 1}
"""


def test_a_price_table_makes_costs_measures_with_limits(run: Run) -> None:
    Path("prices.yaml").write_text(PRICES)
    limited = (*ON, "--max-newly-unschedulable", "any", "--prices", "prices.yaml", "--measure")
    status, out, _ = run(*limited, "cost_used_end:maxChange=2%")
    assert status == 0
    measures = {measure["name"]: measure for measure in json.loads(out)["measures"]}
    assert (measures["cost_used_end"]["unit"], measures["cost_used_end"]["baseline"]) == ("EUR/h", 7.0)
    assert measures["cost_used_end"]["policy"] < 7.0
    assert run(*limited, "cost_used_end:max=0.5")[0] == 1
    # The other way round it costs more.
    turned = ("--policy", "defaults.yaml", "--baseline", "policy.yaml", "--snapshot", "cluster.json")
    status, out, _ = run(*turned, *limited[4:], "cost_used_end:maxChange=2%")
    assert (status, json.loads(out)["verdict"]) == (1, "fail")
    Path("prices.yaml").write_text(PRICES.replace("price: 4", "price: -4"))
    status, _, err = run(*limited, "cost:max=1")
    assert status == 2
    assert err.strip() == "kschedweb.engine: --prices prices.yaml: prices[0].price: must be at least 0, is -4"


def test_a_scenario_is_played_on_the_snapshot(run: Run) -> None:
    Path("scenario.yaml").write_text(SCENARIO)
    status, out, _ = run(*ON, "--scenario", "scenario.yaml")
    assert (status, json.loads(out)["pods"], json.loads(out)["about"]) == (0, 4, "scenario.yaml on cluster.json")
    body = {"kind": "ScenarioExport", "scenario": SCENARIO, "snapshot": {"objects": cluster(), "takenAt": 1.0}}
    Path("export.json.gz").write_bytes(gzip.compress(json.dumps(body).encode()))
    alone = json.loads(run("--policy", "policy.yaml", "--scenario", "export.json.gz")[1])
    assert alone["checks"] == json.loads(out)["checks"]


def test_files_of_a_scenario_lie_beside_it_and_nowhere_else(run: Run) -> None:
    trace = "name: t\narrivals: [{trace: {file: %s, format: csv, columns: {time: at, cpu: cpu}}}]\nrun: {until: 1h}\n"
    Path("folder").mkdir()
    Path("folder/pods.csv").write_text("at,cpu\n0,1\n5,1\n")
    Path("folder/scenario.yaml").write_text(trace % "pods.csv")
    status, out, _ = run(*ON, "--scenario", "folder/scenario.yaml")
    assert (status, json.loads(out)["pods"]) == (0, 8)
    Path("pods.csv").write_text("at,cpu\n0,1\n")
    Path("folder/scenario.yaml").write_text(trace % "../pods.csv")
    status, _, err = run(*ON, "--scenario", "folder/scenario.yaml")
    assert status == 2
    assert "--scenario folder/scenario.yaml: arrivals[0].trace.file: there is no file '../pods.csv'" in err


def test_a_seed_gives_the_same_again_and_another_another(run: Run) -> None:
    generate = "{generate: {perHour: 60, until: 10m, shapes: [{cpu: 100m}]}}"
    Path("scenario.yaml").write_text(f"name: t\narrivals: [{generate}]\nrun: {{until: 1h, place: pending}}\n")
    texts = [run(*ON, "--scenario", "scenario.yaml", "--seed", seed)[1] for seed in ("1", "1", "2")]
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["measures"] != json.loads(texts[2])["measures"]


@pytest.mark.parametrize(
    ("options", "expected_error"),
    [
        (("--policy", "none.yaml", "--snapshot", "cluster.json"), "--policy none.yaml: No such file or directory"),
        (("--policy", "policy.yaml"), "--snapshot: is missing: name a file with the cluster, or a --scenario"),
        (("--policy", "policy.yaml", "--snapshot", "."), "--snapshot .: Is a directory"),
        ((*ON, "--baseline", "none.yaml"), "--baseline none.yaml: No such file or directory"),
        ((*ON, "--baseline", "bad.yaml"), "--baseline bad.yaml: line 1: "),
        (("--policy", "bad.yaml", "--snapshot", "cluster.json"), "--policy bad.yaml: line 1: "),
        (("--policy", "typo.yaml", "--snapshot", "cluster.json"), "--policy typo.yaml: line 9: "),
        (("--policy", "policy.yaml", "--snapshot", "bad.yaml"), "--snapshot bad.yaml: is not YAML: line 1, column"),
        (("--policy", "policy.yaml", "--snapshot", "cut.json"), "--snapshot cut.json: is not JSON: line 1, column"),
        (("--policy", "policy.yaml", "--snapshot", "policy.yaml"), "--snapshot policy.yaml: there is no node in it"),
        (("--policy", "policy.yaml", "--snapshot", "text.yaml"), "--snapshot text.yaml: must hold Kubernetes objects"),
        ((*ON, "--scenario", "bad.yaml"), "--scenario bad.yaml: is not YAML: line 1"),
        ((*ON, "--scenario", "policy.yaml"), "--scenario policy.yaml: apiVersion: must be kschedweb/v1"),
        ((*ON, "--scenario", "scenario.yaml", "--place", "all"), "--place goes with a snapshot alone"),
        (("--policy", "policy.yaml", "--scenario", "scenario.yaml"), "base.snapshot: is not in this file"),
        ((*ON, "--thresholds", "text.yaml"), "--thresholds text.yaml: must be an object"),
        ((*ON, "--thresholds", "policy.yaml"), "--thresholds policy.yaml: apiVersion: is not known"),
        ((*ON, "--max-moved", "some"), "--max-moved: must be a number from 0 on, or a percentage"),
        ((*ON, "--max-pending", "1.5"), "--max-pending: must be a whole number"),
        ((*ON, "--max-skew-increase", "-1"), "--max-skew-increase: must be at least 0, is -1"),
        ((*ON, "--max-skew-increase", "nan"), "--max-skew-increase: must be a finite number"),
        ((*ON, "--measure", "skew_cpu"), "--measure skew_cpu: write a name, a colon and limits"),
        ((*ON, "--measure", "skew_cpu:max"), "--measure skew_cpu:max: write a name, a colon and limits"),
        ((*ON, "--measure", "skew_cpu:most=1"), "--measure: skew_cpu.most: is not known"),
        ((*ON, "--measure", "speed:max=1"), "thresholds: measures['speed']: is not measured here; measured are unsch"),
        ((*ON, "--output", "no/such.md"), "--output no/such.md: No such file or directory"),
        ((*ON, "--output", "verdict.txt"), "--output verdict.txt: must end in .json, .xml, .md, or come with --format"),
    ],
)
def test_bad_input_is_status_2_and_one_line_that_says_where(
    run: Run, options: tuple[str, ...], expected_error: str
) -> None:
    Path("bad.yaml").write_text("a: b: c")
    Path("typo.yaml").write_text(PACKED.replace("MostAllocated", "MostAlocated"))
    Path("cut.json").write_text('{"kind": "List", "items": [')
    Path("text.yaml").write_text("just text")
    Path("scenario.yaml").write_text(SCENARIO)
    status, out, err = run(*options)
    assert (status, out) == (2, "")
    assert err.startswith("kschedweb.engine: ")
    assert expected_error in err
    assert err.count("\n") == 1


def test_wrong_options_are_status_2(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for options in ((), ("--policy", "a", "--format", "pdf"), ("--policy", "a", "--seed", "-1")):
        with pytest.raises(SystemExit) as caught:
            run(*options)
        assert caught.value.code == 2
        assert "Traceback" not in capsys.readouterr().err


def test_it_works_with_the_engine_alone(run: Run) -> None:
    """Nothing of the site is installed where it runs in a pipeline: not even looked for."""
    absent = (
        "django",
        "rest_framework",
        "celery",
        "kubernetes",
        "plotly",
        "structlog",
        "urllib3",
        "kschedweb.web.errors",
    )
    script = (
        f"import runpy, sys; sys.modules.update(dict.fromkeys({absent}))\n"
        "runpy.run_module('kschedweb.engine', run_name='__main__')"
    )
    command = [sys.executable, "-c", script, "gate", *ON]
    completed = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)}, timeout=60)
    assert (completed.returncode, completed.stderr) == (0, "")
    assert json.loads(completed.stdout)["verdict"] == "pass"


def test_an_upgrade_is_one_policy_under_two_releases(run: Run) -> None:
    """From 1.36 on NodeResourcesBalancedAllocation scores what a pod changes, which moves pods."""
    options = ("--policy", "defaults.yaml", "--snapshot", "cluster.json", "--baseline", "defaults.yaml")
    status, out, _ = run(*options, "--release", "1.37", "--baseline-release", "1.35", "--max-moved", "0")
    verdict = json.loads(out)
    assert verdict["policy"] == "defaults.yaml as kube-scheduler 1.37.2"
    assert verdict["baseline"] == "defaults.yaml as kube-scheduler 1.35.4"
    assert verdict["engine"].endswith("kube-scheduler 1.37.2")
    moved = next(check for check in verdict["checks"] if check["name"] == "moved")
    assert (status, bool(moved["value"])) in ((0, False), (1, True))


def test_an_upgrade_to_a_preview_names_its_version(run: Run) -> None:
    options = ("--policy", "defaults.yaml", "--snapshot", "cluster.json", "--baseline", "defaults.yaml")
    status, out, _ = run(*options, "--release", "1.38", "--baseline-release", "1.37", "--max-moved", "any")
    verdict = json.loads(out)
    assert (status, verdict["baseline"]) == (0, "defaults.yaml as kube-scheduler 1.37.2")
    assert verdict["policy"] == "defaults.yaml as kube-scheduler 1.38.0-beta.0"
    assert {change["since"] for change in verdict["upgrade"]["changes"]} == {"1.38"}


@pytest.mark.parametrize(
    ("options", "expected_error"),
    [
        (("--release", "newest"), "--release: release: must be one of 1.34, 1.35, 1.36, 1.37"),
        (
            ("--release", "1.37", "--feature-gates", "NodeDeclaredFeatures=false"),
            "--release: featureGates: cannot set feature gate NodeDeclaredFeatures to false",
        ),
    ],
)
def test_a_release_that_there_is_not_is_told(run: Run, options: tuple[str, ...], expected_error: str) -> None:
    status, _, err = run(*ON, *options)
    assert status == 2
    assert expected_error in err


def test_a_file_that_the_policy_points_at_is_passed_in(run: Run) -> None:
    Path("crane.yaml").write_text("kind: DynamicSchedulerPolicy\napiVersion: scheduler.policy.crane.io/v1alpha1\n")
    Path("aware.yaml").write_text(AWARE)
    arguments = ("--policy", "aware.yaml", "--snapshot", "cluster.json", "--max-moved", "any")

    def count_warnings(*options: str) -> int:
        """Count the warnings about the path."""
        return sum("policyConfigPath" in warning for warning in json.loads(run(*arguments, *options)[1])["warnings"])

    assert (count_warnings(), count_warnings("--file", "/etc/crane.yaml=crane.yaml")) == (1, 0)
    status, _, err = run(*arguments, "--file", "/etc/crane.yaml=none.yaml")
    assert (status, "--file /etc/crane.yaml=none.yaml: cannot be read" in err) == (2, True)
