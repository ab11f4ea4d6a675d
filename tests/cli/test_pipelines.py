"""The GitHub Action and the GitLab template, their steps run as a pipeline runs them, on a repository with a change."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.cli.conftest import clean_variables
from tests.conftest import ROOT
from tests.engine.studies.gates import PACKED

DEFAULTS = "\n".join(PACKED.splitlines()[:2]) + "\n"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
TEMPLATE = yaml.safe_load((ROOT / "deploy" / "ci" / "gitlab.yml").read_text())[".kschedweb-gate"]
EXAMPLES = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "automating.md").read_text(), re.DOTALL)
Step = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def repository(folder: Path, bin_folder: Path) -> Path:
    """Its first commit has kube-scheduler's defaults as the policy in force."""
    (folder / "scheduling").mkdir()
    (folder / "scheduling" / "policy.yaml").write_text(DEFAULTS)
    (folder / "scheduling" / "thresholds.yaml").write_text("maxMoved: 0\n")
    command = "git init --quiet && git add scheduling && git -c user.name=a -c user.email=a@b.c commit --quiet -m start"
    subprocess.run(["bash", "-ec", command], cwd=folder, env=clean_variables(bin_folder, folder), check=True)
    return folder


def github_step(inputs: dict[str, str]) -> tuple[str, dict[str, str]]:
    """(the script of the step that judges, its variables)."""
    step = ACTION["runs"]["steps"][1]
    defaults = {name: field.get("default", "") for name, field in ACTION["inputs"].items()}
    expressions = {f"inputs.{name}": value for name, value in (defaults | {"base": "HEAD"} | inputs).items()}
    expressions["github.action_path"] = str(ROOT)
    variables = {
        name: re.sub(r"\$\{\{ (\S+) \}\}", lambda match: expressions[match[1]], value)
        for name, value in step["env"].items()
    }
    return step["run"], variables


def gitlab_step(inputs: dict[str, str]) -> tuple[str, dict[str, str]]:
    variables = TEMPLATE["variables"] | {"BASE": "HEAD"} | inputs
    return "\n".join(TEMPLATE["script"]), variables


def run_judging_step(
    repository: Path, bin_folder: Path, step: tuple[str, dict[str, str]]
) -> subprocess.CompletedProcess[str]:
    script, variables = step
    outputs = {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "outputs"} if "SCRIPT" in variables else {}
    environment = clean_variables(bin_folder, repository, **variables, **outputs)
    command = ["bash", "-e", "-o", "pipefail", "-c", script]
    return subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, timeout=120)


def example_steps() -> list[tuple[str, dict[str, str]]]:
    """Steps of the document's examples, as scripts and their variables."""
    workflow, pipeline = (yaml.safe_load(text) for text in EXAMPLES)
    return [
        github_step(workflow["jobs"]["policy"]["steps"][1]["with"]),
        gitlab_step(pipeline["policy"]["variables"]),
    ]


@pytest.mark.parametrize("step", example_steps(), ids=["github", "gitlab"])
@pytest.mark.parametrize(("policy", "status"), [(DEFAULTS + "parallelism: 8\n", 0), (PACKED, 1), ("kind: Pod\n", 2)])
def test_a_change_is_judged(repository: Path, bin_folder: Path, step: Any, policy: str, status: int) -> None:
    (repository / "scheduling" / "policy.yaml").write_text(policy)
    process = run_judging_step(repository, bin_folder, step)
    assert process.returncode == status, process.stdout + process.stderr
    summary = repository / "summary.md"
    if status == 2:
        assert "--policy scheduling/policy.yaml" in process.stderr
        assert not (repository / "verdict.md").exists()
        assert not summary.exists() or "exit status 2" in summary.read_text()
        return
    failures = ElementTree.parse(repository / "verdict.xml").getroot().get("failures")
    assert failures == str(status)
    assert (repository / "kschedweb-baseline.yaml").read_text() == DEFAULTS
    if summary.exists():
        assert summary.read_text() == (repository / "verdict.md").read_text()
        assert (repository / "outputs").read_text() == f"status={status}\n"


def test_a_new_policy_is_held_against_the_defaults(repository: Path, bin_folder: Path) -> None:
    (repository / "new.yaml").write_text(PACKED)
    script, variables = example_steps()[0]
    process = run_judging_step(repository, bin_folder, (script, variables | {"POLICY": "new.yaml"}))
    assert process.returncode == 1
    assert "kube-scheduler's defaults" in process.stdout


def test_names_never_become_commands(repository: Path, bin_folder: Path) -> None:
    script, variables = example_steps()[0]
    run_judging_step(repository, bin_folder, (script, variables | {"POLICY": "$(touch made)", "BASE": "`touch made`"}))
    assert not (repository / "made").exists()
    assert "${{" not in script


def test_both_have_the_same_lines() -> None:
    lines = (ROOT / "deploy" / "ci" / "gate.sh").read_text().splitlines()
    ours = [line for line in lines if not line.startswith("#")]
    theirs = "\n".join(TEMPLATE["script"]).splitlines()
    assert theirs[:-1] == ours[: len(theirs) - 1]
    assert theirs[-1] == ours[-1]
    assert os.access(ROOT / "deploy" / "ci" / "gate.sh", os.X_OK)
