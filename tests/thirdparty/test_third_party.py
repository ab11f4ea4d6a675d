"""A plugin of another package: installed with pip, known everywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kschedweb.engine.json_types import Json
from tests.conftest import ROOT

ENGINE = ["-m", "kschedweb.engine", "explain"]
PACKAGES = ROOT / "tests" / "support"


pytestmark = pytest.mark.xdist_group("thirdparty")  # installed once


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder in which both packages are installed, and nothing else."""
    target = tmp_path_factory.mktemp("site-packages")
    options = ["--quiet", "--no-index", "--no-build-isolation", "--no-deps", "--disable-pip-version-check"]
    packages = [str(PACKAGES / name) for name in ("racklimit", "headroom")]
    run([sys.executable, "-m", "pip", "install", *options, "--target", str(target), *packages])
    return target


def run(command: list[str], folder: Path | None = None, stdin: str = "") -> str:
    # A run of its own, on SQLite, so that it meets no server that this one uses.
    ours = ("PYTEST_", "DATABASE_URL", "REDIS_URL", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    if folder:
        environment["PYTHONPATH"] = str(folder)
    process = subprocess.run(
        command, cwd=ROOT, env=environment, input=stdin, capture_output=True, text=True, timeout=300
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def engine(command: str, folder: Path | None, stdin: str) -> Json:
    answer: Json = json.loads(run([sys.executable, "-m", "kschedweb.engine", command], folder, stdin))
    return answer


def node(name: str, rack: str) -> Json:
    amounts = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    metadata = {"name": name, "labels": {"example.com/rack": rack} if rack else {}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}


def pod(name: str, on: str = "") -> Json:
    container = {"name": "main", "image": "web"}
    spec = {"containers": [container], **({"nodeName": on} if on else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "plugins": {"multiPoint": {"enabled": [{"name": "RackLimit", "weight": 5}]}},
            "pluginConfig": [{"name": "RackLimit", "args": {"maxPods": 3}}],
        }
    ],
}
SCENARIO = json.dumps(
    {
        "name": "racks",
        "config": CONFIG,
        "objects": [
            *(node(name, rack) for name, rack in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("c1", "c"), ("bare", "")]),
            *(pod(f"on-{number}", on) for number, on in enumerate(["a1", "a1", "a2", "b1", "b1"])),
        ],
        "pending": [pod(name) for name in ("first", "second", "third", "fourth", "fifth")],
        "mode": "each",
    }
)


def test_the_command_line_explains_with_it(folder: Path) -> None:
    (first, *_) = engine("explain", folder, SCENARIO)["pods"]
    assert first["filters"]["RackLimit"] == {
        "a1": {"code": "Unschedulable", "reasons": ["rack(s) were full"]},
        "a2": {"code": "Unschedulable", "reasons": ["rack(s) were full"]},
        "bare": {"code": "UnschedulableAndUnresolvable", "reasons": ["node(s) were in no rack"]},
    }
    assert first["scores"]["RackLimit"] == {"weight": 5, "raw": {"b1": 2, "c1": 0}, "normalized": {"b1": 0, "c1": 100}}
    assert first["chosen"] == "c1"


def test_the_command_line_schedules_with_it_until_every_rack_is_full(folder: Path) -> None:
    placements = engine("schedule", folder, SCENARIO)["placements"]
    assert sorted(placement.get("node", "") for placement in placements) == ["", "b1", "c1", "c1", "c1"]
    reasons = "1 node(s) were in no rack, 4 rack(s) were full."
    assert placements[-1]["message"] == f"0/5 nodes are available: {reasons}"


def test_the_command_line_validates_its_arguments(folder: Path) -> None:
    assert engine("validate", folder, json.dumps(CONFIG))["valid"]
    wrong = json.dumps(CONFIG).replace('"maxPods": 3', '"maxPods": -1')
    (problem,) = engine("validate", folder, wrong)["errors"]
    assert "maxPods: Invalid value: -1: must be greater than 0" in problem


@pytest.mark.parametrize(
    ("command", "module", "why"),
    [
        (ENGINE, "", "No module named 'odd_plugin'"),
        (ENGINE, "SPEC = 5", "is no PluginSpec"),
        (ENGINE, "SPEC = 1 / 0", "division by zero"),
        (ENGINE, "from kschedweb.engine.plugins.nodename import SPEC", "two"),
        (["manage.py", "check"], "SPEC = 5", "is no PluginSpec"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_named_in_one_line(
    tmp_path: Path, command: list[str], module: str, why: str
) -> None:
    information = tmp_path / "odd-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[kschedweb.plugins]\nOdd = odd_plugin:SPEC\n")
    if module:
        (tmp_path / "odd_plugin.py").write_text(module)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    process = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, input=SCENARIO, capture_output=True, text=True
    )
    assert process.returncode
    assert process.stdout == ""
    assert f"the plugin Odd (odd_plugin:SPEC) cannot be used: {why}" in process.stderr
    assert process.stderr.count("\n") == 1


def test_without_the_package_the_plugin_is_unknown() -> None:
    answer = engine("validate", None, json.dumps(CONFIG))
    assert not answer["valid"]
    assert "RackLimit" in answer["errors"][0]


def test_the_site_shows_both_in_forms_profiles_explanations_and_wherever_load_counts(folder: Path) -> None:
    """within.py and within_headroom.py, in a process that has the packages."""
    files = ["tests/thirdparty/within.py", "tests/thirdparty/within_headroom.py"]
    output = run([sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", *files], folder)
    assert "12 passed" in output
