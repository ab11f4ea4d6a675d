"""The installed command line against a whole site, as `kschedweb serve` of the wheel starts it, with its sandbox."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from kschedweb.cli.commands.queue import GETS_QUOTA
from tests.cli.conftest import Command, clean_variables
from tests.conftest import ROOT
from tests.support.processes import wait_until
from tests.support.sandbox import pod
from tests.support.site import Site

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("cli")]
SHELL = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "automating.md").read_text(), re.DOTALL)
Tokens = Callable[[str], dict[str, str]]


@pytest.fixture(scope="session", autouse=True)
def read(site: Site) -> None:
    """The sandbox has been read once."""
    wait_until(lambda: site.ask("GET", "clusters/sandbox/")["taken_at"], "the sandbox has a snapshot", step=1)


def test_the_wheel_has_built_pages_and_catalogues(site: Site) -> None:
    address = f"{site.url}/decision/demo/ml/notebook/?policy=default"
    page = site.session.get(address, headers={"Accept-Language": "ja"}, timeout=120)
    assert page.status_code == 200
    assert '<html lang="ja"' in page.text
    assert re.search(r"<title>[^<]*[\u3040-\u30ff]", page.text)
    scripts = re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text)
    assert len(scripts) > 1
    assert {site.session.get(site.url + path, timeout=30).status_code for path in scripts} == {200}


def test_clusters_are_listed(run: Command, tokens: Tokens, site: Site) -> None:
    process = run("clusters", "-o", "json", **tokens("view"))
    assert (process.returncode, process.stderr) == (0, "")
    assert [load["name"] for load in json.loads(process.stdout)] == ["demo", "sandbox"]
    head, *rows = run("clusters", **tokens("view")).stdout.splitlines()
    assert head.split()[0] == "NAME"
    assert [row.split()[0] for row in rows] == ["demo", "sandbox"]
    show_process = run("clusters", "show", "demo", "-o", "yaml", **tokens("view"))
    assert yaml.safe_load(show_process.stdout)["counts"]["Node"] == 60


def test_queue_tells_why_a_workload_waits(run: Command, tokens: Tokens) -> None:
    options = ("--cluster", "demo")
    process = run("queue", "ml/job-speech", *options, "-o", "json", **tokens("view"))
    assert process.returncode == 1, process.stderr
    answer = json.loads(process.stdout)
    assert answer["verdict"] == "preempts"
    table = run("queue", "job-speech", "-n", "ml", *options, **tokens("view")).stdout
    assert all(remedy["sentence"] in table for remedy in answer["remedies"])
    assert "data/job-probe-c" in table
    assert "analytics" in run("queue", *options, **tokens("view")).stdout


def test_queue_asks_about_a_job_that_is_not_submitted(run: Command, tokens: Tokens, tmp_path: Path) -> None:
    container = {"name": "main", "image": "a", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "probe"}, "spec": {"template": template}}
    file = tmp_path / "job.json"
    file.write_text(json.dumps(job))
    options = ("--cluster", "demo", "--queue", "analytics/analytics", "-o", "json")
    process = run("queue", "-f", str(file), *options, **tokens("view"))
    answer = json.loads(process.stdout)
    assert answer["workload"] == "analytics/job-probe"
    assert process.returncode == (0 if answer["verdict"] in GETS_QUOTA else 1)
    more = run("queue", "-f", str(file), *options, "--set", "analytics/spot/cpu/nominal=900", **tokens("view"))
    assert more.returncode == 0, more.stderr
    refused = run("queue", "-f", str(file), "--cluster", "demo", "--queue", "analytics/No", **tokens("view"))
    assert "metadata.labels[kueue.x-k8s.io/queue-name]" in refused.stderr
    assert (
        "must be PATH=VALUE"
        in run("queue", "ml/job-speech", "--set", "a", "--cluster", "demo", **tokens("view")).stderr
    )


def test_explain_answers_as_rest_does(run: Command, tokens: Tokens, site: Site) -> None:
    process = run("explain", "ml/notebook", "--cluster", "demo", "-o", "json", **tokens("view"))
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout) == site.ask("GET", "clusters/demo/pods/ml/notebook/decision/")
    table = run("explain", "notebook", "-n", "ml", "--cluster", "demo", **tokens("view")).stdout
    assert f"Node:    {json.loads(process.stdout)['chosen']}\n" in table


def test_of_files_and_of_the_server_the_answer_is_the_same(
    run: Command, tokens: Tokens, site: Site, folder: Path
) -> None:
    """The engine here and the site's decide alike about an imported dump."""
    dump = (folder / "cluster.json").read_bytes()
    if "files" not in {row["name"] for row in site.ask("GET", "clusters/")["results"]}:
        answer = site.call_rest(
            "POST", "clusters/import/", files={"file": ("cluster.json", dump)}, data={"name": "files"}
        )
        assert answer.status_code < 300, answer.text
        wait_until(lambda: site.ask("GET", "clusters/files/")["taken_at"], "it is imported")
    local_answer = json.loads(run("explain", "web-1", "--snapshot", "cluster.json", "-o", "json").stdout)
    server_answer = json.loads(run("explain", "web-1", "--cluster", "files", "-o", "json", **tokens("view")).stdout)
    alike = ("chosen", "total", "filters", "scores", "rejected", "bound_to", "best")
    assert {key: local_answer.get(key) for key in alike} == {key: server_answer.get(key) for key in alike}


def test_kubectls_context_names_the_cluster(run: Command, tokens: Tokens, site: Site, folder: Path) -> None:
    server = site.ask("GET", "clusters/sandbox/")["server"]
    pod = site.ask("GET", "clusters/sandbox/pods/?limit=1&pending=false&scheduler=default-scheduler")["results"][0]
    kubeconfig = {
        "current-context": "mine",
        "contexts": [{"name": "mine", "context": {"cluster": "sandbox", "namespace": pod["namespace"]}}],
        "clusters": [{"name": "sandbox", "cluster": {"server": server or "https://elsewhere.example.com"}}],
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    variables = {**tokens("view"), "KUBECONFIG": str(folder / "kubeconfig")}
    process = run("explain", f"pod/{pod['name']}", "-o", "json", program="kubectl-ksched", **variables)
    assert process.returncode in (0, 1), process.stderr
    assert json.loads(process.stdout)["pod"] == f"{pod['namespace']}/{pod['name']}"


def test_the_gate_is_asked_of_a_cluster(run: Command, tokens: Tokens, folder: Path) -> None:
    command = ["gate", "--policy", "packed.yaml", "--cluster", "demo", "--max-moved"]
    process = run(*command, "0", "--report", "verdict.md", **tokens("edit"))
    assert process.returncode == 1, process.stderr
    assert process.stdout.startswith("Verdict:   fail\n")
    assert (folder / "verdict.md").read_text().startswith("## ❌")
    assert run(*command, "any", "--max-newly-unschedulable", "any", **tokens("edit")).returncode == 0
    rejection = run(*command, "0", **tokens("view"))
    assert (rejection.returncode, rejection.stdout) == (3, "")
    assert "403" in rejection.stderr


def test_policies_are_compared_and_runs_are_there(run: Command, tokens: Tokens, site: Site) -> None:
    process = run("compare", "default", "default", "--cluster", "demo", **tokens("edit"))
    assert process.returncode == 0, process.stderr
    assert "Moved pods:  0\n" in process.stdout
    scenario = next(row for row in site.ask("GET", "scenarios/")["results"] if "demo" in row["name"].lower())
    run_process = run(
        "runs", "start", "--scenario", scenario["id"], "--policy", "default", "-o", "json", **tokens("edit")
    )
    assert run_process.returncode == 0, run_process.stderr
    run_started = json.loads(run_process.stdout)
    assert (run_started["state"], bool(run_started["measures"])) == ("succeeded", True)
    assert run_started["id"] in run("runs", **tokens("view")).stdout
    show_process = run("runs", "show", run_started["id"], **tokens("view"))
    assert "State:     succeeded\n" in show_process.stdout
    other_policy = next(
        row["name"] for row in site.ask("GET", "policies/?limit=100")["results"] if row["name"] != "default"
    )
    command = ["compare", "default", other_policy, "--scenario", scenario["id"], "-o", "json"]
    compare_process = run(*command, **tokens("edit"))
    assert compare_process.returncode == 0, compare_process.stderr
    assert len(json.loads(compare_process.stdout)["runs"]) == 2


def test_a_waiting_pod_is_approved_and_another_denied(run: Command, tokens: Tokens, site: Site) -> None:
    for name in ("cli-yes", "cli-no"):
        site.ask("POST", "sandbox/objects/", {"text": json.dumps(pod(name, "payments", "guarded"))})

    def waiting() -> list[str]:
        approvals = json.loads(run("approvals", "-n", "payments", "-o", "json", **tokens("view")).stdout)
        return [approval["name"] for approval in approvals if approval["name"].startswith("cli-")]

    wait_until(lambda: len(waiting()) == 2, "both wait", step=1)
    rejection = run("approvals", "approve", "payments/cli-yes", **tokens("view"))
    assert rejection.returncode == 3
    approval = run("approvals", "approve", "payments/cli-yes", "--reason", "fine", "-o", "json", **tokens("approve"))
    assert approval.returncode == 0, approval.stderr
    (vote,) = json.loads(approval.stdout)["votes"]
    assert (vote["verdict"], vote["reason"]) == ("approve", "fine")
    denial = run("approvals", "deny", "payments/cli-no", "--reason", "not today", **tokens("approve"))
    assert denial.returncode == 0, denial.stderr
    assert "denied" in denial.stdout
    second_denial = run("approvals", "deny", "payments/cli-no", "--reason", "not today", **tokens("approve"))
    assert second_denial.returncode == 2


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["explain", "ml/none", "--cluster", "demo"], 2, "404"),
        (["explain", "ml/notebook", "--cluster", "nowhere"], 2, "404"),
        (["explain", "ml/notebook", "--cluster", "demo", "--policy", "nothing"], 2, "404"),
        (["explain", "ml/notebook"], 2, "--cluster"),
        (["runs", "show", "not-an-id"], 2, "404"),
    ],
)
def test_what_the_server_does_not_know_is_told(
    run: Command, tokens: Tokens, words: list[str], status: int, message: str
) -> None:
    process = run(*words, **tokens("view"))
    assert (process.returncode, process.stdout, process.stderr.count("\n")) == (status, "", 1)
    assert message in process.stderr


def test_a_wrong_token_is_refused_and_not_repeated(run: Command, site: Site) -> None:
    process = run("clusters", KSCHEDWEB_URL=site.url, KSCHEDWEB_TOKEN="ksw_wrong")
    assert process.returncode == 3
    assert "ksw_wrong" not in process.stderr + process.stdout


def test_a_configuration_file_says_it_all(run: Command, tokens: Tokens, folder: Path) -> None:
    (folder / "token").write_text(tokens("view")["KSCHEDWEB_TOKEN"] + "\n")
    file = folder / ".config" / "kschedweb" / "config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(f"server: {tokens('view')['KSCHEDWEB_URL']}\ntoken_file: ~/token\ncluster: demo\n")
    # The file's "~" is the person's home.
    file.write_text(file.read_text().replace("~", str(folder)))
    process = run("explain", "ml/notebook")
    assert process.returncode == 0, process.stderr


def test_the_documents_commands_are_answered(bin_folder: Path, folder: Path, tokens: Tokens) -> None:
    environment = clean_variables(bin_folder, folder, **tokens("edit"))
    process = subprocess.run(["bash", "-ec", SHELL[1]], cwd=folder, env=environment, capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (0, "")
