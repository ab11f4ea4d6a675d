"""docs/gate.md: its commands are run as they stand, and what it names exists."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from django.conf import settings

from kschedweb.accounts import services as accounts
from kschedweb.accounts.models import User
from kschedweb.clusters.models import Snapshot
from kschedweb.engine.__main__ import build_parser
from kschedweb.engine.studies.gate.thresholds import LIMITS, THRESHOLDS, read_thresholds
from kschedweb.jobs.inquiries import AT_ONCE_SECONDS
from kschedweb.jobs.models import Job
from kschedweb.playground.gate import services, tasks
from kschedweb.playground.gate.invocation import DUMP
from kschedweb.playground.gate.models import Gate
from tests.conftest import ROOT
from tests.decisions.conftest import store_snapshot
from tests.engine.studies.gates import PACKED, cluster
from tests.support.needs import missing

__all__ = ["store_snapshot"]

TEXT = (ROOT / "docs" / "gate.md").read_text()
SHELL = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
YAML = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
DEFAULTS = "\n".join(PACKED.splitlines()[:2]) + "\n"
SAME = DEFAULTS + "parallelism: 8\n"  # another text that decides the same


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with policy and thresholds, whose first commit is what is in force, and a cluster's dump."""
    (tmp_path / "scheduling").mkdir()
    (tmp_path / "scheduling" / "policy.yaml").write_text(DEFAULTS)
    (tmp_path / "scheduling" / "thresholds.yaml").write_text(YAML[0])
    (tmp_path / "policy.yaml").write_text(PACKED)
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "items": cluster()}))
    run_script("git init --quiet && git add scheduling && git commit --quiet --message start", tmp_path)
    return tmp_path


def environment(folder: Path, **variables: str) -> dict[str, str]:
    identity = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "somebody")
    identity |= dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "somebody@example.org")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(folder), "BASE_COMMIT": "HEAD", **identity, **variables}


def run_script(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """``script`` as a step of a pipeline runs it."""
    command = ["bash", "-e", "-o", "pipefail", "-c", script]
    return subprocess.run(
        command, cwd=folder, env=environment(folder, **variables), capture_output=True, text=True, timeout=60
    )


def run_steps(folder: Path) -> tuple[int, str]:
    """The status with which the first step that fails ends, and what it says; 0 where none does."""
    for step in yaml.safe_load(YAML[1])["steps"]:
        process = run_script(step["run"], folder)
        if process.returncode:
            return process.returncode, process.stderr
    return 0, ""


def test_the_commands_pass_and_write_what_they_say(folder: Path) -> None:
    first = run_script(SHELL[0], folder)
    assert (first.returncode, first.stderr) == (0, "")
    assert json.loads(first.stdout)["verdict"] == "pass"
    second = run_script(SHELL[2], folder)
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert len(list(ElementTree.parse(folder / "verdict.xml").iter("testcase"))) == 6
    assert (folder / "verdict.md").read_text().startswith("## ✅")


def test_the_check_passes_a_policy_that_decides_the_same(folder: Path) -> None:
    (folder / "scheduling" / "policy.yaml").write_text(SAME)
    assert run_steps(folder) == (0, "")
    assert (folder / "baseline.yaml").read_text() == DEFAULTS
    assert (folder / "verdict.md").read_text().startswith("## ✅")


def test_the_check_fails_a_policy_that_moves_pods_and_leaves_its_reports(folder: Path) -> None:
    (folder / "scheduling" / "policy.yaml").write_text(PACKED)
    assert run_steps(folder) == (1, "")
    assert ElementTree.parse(folder / "verdict.xml").getroot().get("failures") == "3"
    assert (folder / "verdict.md").read_text().startswith("## ❌")


def test_the_check_ends_with_2_for_what_is_no_policy(folder: Path) -> None:
    (folder / "scheduling" / "policy.yaml").write_text("kind: KubeSchedulerConfiguration\n")
    status, output = run_steps(folder)
    assert status == 2
    assert output.startswith("kschedweb.engine: --policy scheduling/policy.yaml: ")
    assert output.count("\n") == 1


# Over REST.


@pytest.fixture
def site(live_server: Any, editor: User, store_snapshot: Callable[..., Snapshot]) -> dict[str, str]:
    """A site that knows the cluster, and what the script reads from its environment."""
    if shutil.which("curl") is None:
        missing("install curl")
    store_snapshot(cluster(), "production")
    _, key = accounts.token_create(user=editor, name="pipeline", scope="edit", days=1)
    return {"KSCHEDWEB_URL": live_server.url, "KSCHEDWEB_TOKEN": key, "COMMIT": "4f5e"}


@pytest.mark.server
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("policy", "status"), [(SAME, 0), (PACKED, 1), ("kind: Pod\n", 2)])
def test_the_call_answers_as_the_command_does(folder: Path, site: dict[str, str], policy: str, status: int) -> None:
    (folder / "scheduling" / "policy.yaml").write_text(policy)
    process = run_script(SHELL[3], folder, **site)
    assert (process.returncode, bool(process.stderr)) == (status, status == 2), process.stderr
    if status == 2:
        assert json.loads(process.stderr)["errors"][0]["path"] == "policy"
        return
    verdict, markdown = json.loads((folder / "verdict.json").read_text()), (folder / "verdict.md").read_text()
    assert verdict["about"].startswith("production, ")
    assert markdown.startswith("## ❌" if status else "## ✅")
    assert ElementTree.parse(folder / "verdict.xml").getroot().get("failures") == ("3" if status else "0")
    second_run = run_script(SHELL[3], folder, **site)
    assert second_run.returncode == status
    assert Gate.objects.count() == 1  # the same commit gets the same answer


@pytest.mark.server
@pytest.mark.django_db(transaction=True)
def test_the_call_waits_for_a_verdict_that_takes_longer(
    folder: Path, site: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 0)
    script = SHELL[3].replace("sleep 2", "sleep 0.1")
    command = ["bash", "-e", "-c", script]
    with subprocess.Popen(command, cwd=folder, env=environment(folder, **site), stderr=subprocess.PIPE) as pipeline:
        while not (job := Job.objects.first()) and pipeline.poll() is None:
            pass
        assert job is not None
        assert pipeline.poll() is None
        tasks.judge(str(job.pk))
        _, output = pipeline.communicate(timeout=60)
    assert (pipeline.returncode, output) == (0, b"")
    assert json.loads((folder / "verdict.json").read_text())["verdict"] == "pass"


# What is named.


def test_every_option_threshold_and_kind_is_named() -> None:
    commands: Any = next(
        action for action in build_parser(["gate"])._actions if hasattr(action, "choices") and action.choices
    )
    options = {
        name for action in commands.choices["gate"]._actions for name in action.option_strings if name[:2] == "--"
    }
    assert {name for name in options if f"`{name}" not in TEXT} == {"--help"}
    for field in (*THRESHOLDS.fields, *LIMITS.fields):
        assert re.search(rf"\b{field.name}\b", TEXT), field.name
    assert f"kubectl get {DUMP} --all-namespaces --output=json > cluster.json" in SHELL[1]
    assert read_thresholds(yaml.safe_load(YAML[0])).measures
    assert f"at most {services.AT_ONCE:,}, and it takes at most {AT_ONCE_SECONDS:g} s" in TEXT
    assert f"kept for {settings.KEEP_DAYS['answers']} days" in TEXT
