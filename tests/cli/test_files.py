"""The command line by the engine alone, on files: installed from its wheel, where there is no Django."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.cli.conftest import Command, clean_variables
from tests.conftest import ROOT
from tests.support.needs import missing

SHELL = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "automating.md").read_text(), re.DOTALL)


def test_the_wheel_needs_numpy_and_yaml_and_for_the_site_what_is_pinned(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    requirements = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    assert sorted(line.partition(">")[0].lower() for line in requirements if ";" not in line) == ["numpy", "pyyaml"]
    site = {line.partition(";")[0].lower() for line in requirements if line.endswith("; extra == 'site'")}
    pinned_packages = [
        line.split()[0].lower() for line in (ROOT / "requirements.txt").read_text().splitlines() if "==" in line
    ]
    assert {re.sub(r"\[.*\]", "", line) for line in site} == {re.sub(r"\[.*\]", "", line) for line in pinned_packages}


def test_serve_without_the_packages_of_the_site_says_what_to_install(run: Command) -> None:
    process = run("serve")
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr == "kschedweb: the site needs more packages: pip install 'kschedweb[site]'\n"


def test_there_is_no_django(bin_folder: Path, folder: Path) -> None:
    process = subprocess.run(
        [bin_folder / "python", "-c", "import django"], env=clean_variables(bin_folder, folder), capture_output=True
    )
    assert process.returncode == 1
    assert b"No module named 'django'" in process.stderr


def test_a_pod_of_another_scheduler_is_no_error(run: Command, folder: Path) -> None:
    (folder / "batch.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: batch}]\n"
    )
    process = run("explain", "pod/web-1", "--snapshot", "cluster.json", "--policy", "batch.yaml")
    assert (process.returncode, process.stderr) == (0, "")
    assert re.search(r"Status: +Handled by default-scheduler", process.stdout)


def test_explain_answers_as_the_engine_does(run: Command, folder: Path) -> None:
    process = run("explain", "pod/web-1", "--snapshot", "cluster.json", "-o", "json")
    assert (process.returncode, process.stderr) == (0, "")
    answer = json.loads(process.stdout)
    objects = json.loads((folder / "cluster.json").read_text())["items"]
    pod = next(item for item in objects if item["metadata"]["name"] == "web-1")
    pending = {**pod, "spec": {key: value for key, value in pod["spec"].items() if key != "nodeName"}}
    scenario = {"objects": [item for item in objects if item is not pod], "pending": [pending]}
    engine = subprocess.run(
        [sys.executable, "-m", "kschedweb.engine", "explain"],
        cwd=ROOT,
        input=json.dumps(scenario),
        capture_output=True,
        text=True,
        check=True,
    )
    expected = json.loads(engine.stdout)["pods"][0]
    assert (answer["chosen"], answer["total"], answer["filters"]) == (
        expected["chosen"],
        expected["total"],
        expected["filters"],
    )
    assert answer["bound_to"] == "node-0"


def test_a_pod_that_fits_nowhere_is_a_no(run: Command, folder: Path) -> None:
    objects = json.loads((folder / "cluster.json").read_text())["items"]
    objects[-1]["spec"]["nodeSelector"] = {"disk": "none"}
    objects[-1]["spec"].pop("nodeName")
    (folder / "cluster.json").write_text(json.dumps({"kind": "List", "items": objects}))
    process = run("explain", "default/web-5", "--snapshot", "cluster.json")
    assert process.returncode == 1
    assert "NodeAffinity" in process.stdout
    assert "Node:" in process.stdout


def test_a_gated_pod_is_a_no(run: Command, folder: Path) -> None:
    objects = json.loads((folder / "cluster.json").read_text())["items"]
    objects[-1]["spec"]["schedulingGates"] = [{"name": "example.com/hold"}]
    objects[-1]["spec"].pop("nodeName")
    (folder / "cluster.json").write_text(json.dumps({"kind": "List", "items": objects}))
    process = run("explain", "default/web-5", "--snapshot", "cluster.json")
    assert process.returncode == 1
    assert re.search(r"Node: +none\nNot tried: +SchedulingGates: waiting .*hold]\nWould go to: +node-", process.stdout)


def test_a_classic_policy_is_run_by_the_classic_scheduler(run: Command, folder: Path) -> None:
    policy = {"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "PodFitsResources"}], "priorities": []}
    (folder / "classic.json").write_text(json.dumps(policy))
    process = run("explain", "web-1", "--snapshot", "cluster.json", "--policy", "./classic.json", "-o", "yaml")
    assert process.returncode == 0, process.stderr
    assert "kube-scheduler 1.13" in yaml.safe_load(process.stdout)["engine"]


def test_the_gate_says_no_by_its_exit_status_and_writes_reports(run: Command, folder: Path) -> None:
    command = ["gate", "--policy", "packed.yaml", "--snapshot", "cluster.json", "--max-moved", "0"]
    process = run(*command, "--report", "verdict.xml", "--report", "verdict.md")
    assert (process.returncode, process.stderr) == (1, "")
    assert process.stdout.splitlines()[0].split() == ["Verdict:", "fail"]
    assert ElementTree.parse(folder / "verdict.xml").getroot().get("failures") == "1"
    assert (folder / "verdict.md").read_text().startswith("## ❌")
    command[-1] = "any"
    assert run(*command).returncode == 0


def test_compare_has_every_measure_of_both(run: Command) -> None:
    process = run("compare", "defaults.yaml", "packed.yaml", "--snapshot", "cluster.json", "-o", "json")
    assert process.returncode == 0, process.stderr
    answer = json.loads(process.stdout)
    assert answer["counts"]["moved"] == 4
    skew = next(measure for measure in answer["measures"] if measure["name"] == "skew_cpu_end")
    assert skew["policy"] > skew["baseline"]
    table = run("compare", "defaults.yaml", "packed.yaml", "--snapshot", "cluster.json").stdout
    assert "Moved pods:  4" in table


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["explain", "web-9", "--snapshot", "cluster.json"], "holds no pod default/web-9"),
        (["explain", "a/b/c", "--snapshot", "cluster.json"], "must be a pod"),
        (["explain", "web-1", "--snapshot", "nowhere.json"], "nowhere.json: No such file"),
        (["explain", "web-1", "--snapshot", "packed.yaml"], "holds no pod"),
        (["explain", "web-1", "--snapshot", "cluster.json", "--policy", "cluster.json"], "config: "),
        (["explain", "web-1", "--snapshot", "cluster.json", "--release", "0.9"], "must be one of 1.34"),
        (["gate", "--policy", "packed.yaml", "--snapshot", "cluster.json", "--max-moved", "few"], "--max-moved"),
        (["gate", "--policy", "packed.yaml", "--snapshot", "cluster.json", "--report", "verdict.doc"], "--report"),
        (["compare", "packed.yaml", "--snapshot", "cluster.json"], "two policies"),
        (["clusters"], "KSCHEDWEB_URL"),
    ],
)
def test_wrong_input_is_one_line_and_a_2(run: Command, words: list[str], message: str) -> None:
    process = run(*words)
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr.startswith("kschedweb: ")
    assert process.stderr.count("\n") == 1
    assert message in process.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "kschedweb: the following arguments are required: COMMAND"),
        (["nonsense"], "kschedweb: argument COMMAND: invalid choice: 'nonsense'"),
        (["explain"], "kschedweb explain: the following arguments are required: POD"),
        (["runs", "show"], "kschedweb runs show: the following arguments are required: ID"),
    ],
)
def test_wrong_options_are_one_line_and_a_2(run: Command, words: list[str], message: str) -> None:
    process = run(*words)
    assert (process.returncode, process.stdout, process.stderr.count("\n")) == (2, "", 1)
    assert process.stderr.startswith(message)


def test_a_token_that_others_can_read_is_refused(run: Command, folder: Path) -> None:
    file = folder / ".config" / "kschedweb" / "config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("server: https://kschedweb.example.com\ntoken: abc\n")
    file.chmod(0o644)
    process = run("clusters")
    assert process.returncode == 3
    assert "chmod 600" in process.stderr
    assert "abc" not in process.stderr


@pytest.mark.parametrize(
    ("address", "status"),
    [("http://kschedweb.example.com", 3), ("ftp://127.0.0.1", 2), ("http://127.0.0.1:9", 4), ("nonsense", 2)],
)
def test_where_the_token_must_not_go_it_does_not(run: Command, address: str, status: int) -> None:
    assert run("clusters", KSCHEDWEB_URL=address, KSCHEDWEB_TOKEN="ksw_x").returncode == status


@pytest.mark.parametrize(
    ("words", "completions"),
    [
        ("ga", ["gate"]),
        ("gate --pl", ["--place"]),
        ("gate --place ", ["all", "pending"]),
        ("approvals ", ["approve", "deny", "list"]),
        ("explain -o y", ["yaml"]),
        ("gate --policy ", []),
    ],
)
def test_bash_completes(run: Command, bin_folder: Path, folder: Path, words: str, completions: list[str]) -> None:
    """A bash that has read the script is asked as it asks itself after a tab."""
    if shutil.which("bash") is None:
        missing("install bash")
    (folder / "completion").write_text(run("completion", "bash").stdout)
    split = ["kschedweb", *words.split(" ")]
    asking = f"source completion; COMP_WORDS=({' '.join(repr(part) for part in split)}); COMP_CWORD={len(split) - 1}; "
    asking += '_kschedweb; printf "%s\\n" "${COMPREPLY[@]}"'
    process = subprocess.run(
        ["bash", "-c", asking],
        cwd=folder,
        env=clean_variables(bin_folder, folder),
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.split() == completions


def test_kubectl_is_told_what_completes(run: Command) -> None:
    assert run("approvals", "a", program="kubectl_complete-ksched").stdout == "approve\n:4\n"


def test_as_a_plugin_it_reads_kubectls_context(run: Command, folder: Path) -> None:
    kubeconfig = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "namespace": "shop", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443"}}],
        "users": [{"name": "u", "user": {"exec": {"command": str(folder / "never-run")}}}],
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    command = ["explain", "web-1", "--snapshot", "cluster.json"]
    process = run(*command, program="kubectl-ksched", KUBECONFIG="kubeconfig")
    assert process.returncode == 2
    assert (
        process.stderr == "kubectl ksched: --snapshot cluster.json: holds no pod shop/web-1; there is default/web-1\n"
    )
    assert run(*command, KUBECONFIG="kubeconfig").returncode == 0
    assert run(*command, program="kubectl-ksched", KUBECONFIG="none").returncode == 2


def test_the_documents_commands_on_files_answer(bin_folder: Path, folder: Path) -> None:
    (folder / "policy.yaml").write_text((folder / "defaults.yaml").read_text())
    script = SHELL[0]
    process = subprocess.run(
        ["bash", "-ec", script], cwd=folder, env=clean_variables(bin_folder, folder), capture_output=True, text=True
    )
    assert (process.returncode, process.stderr) == (0, "")
    assert "Verdict:   pass" in process.stdout
