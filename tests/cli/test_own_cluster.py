"""Commands about the person's own cluster, here a dump of it; with a real one they are in tests/live."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kschedweb.cli.exits import Exit
from kschedweb.cli.main import main
from tests.engine.builders import node, pod


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Two nodes of 4 CPU, a pod that runs, one that fits and one that is too large."""
    scheduler = {
        **pod("kube-scheduler-a", on="a"),
        "metadata": {"name": "kube-scheduler-a", "namespace": "kube-system"},
    }
    scheduler["spec"]["containers"][0] |= {
        "image": "registry.k8s.io/kube-scheduler:v1.35.2",
        "command": ["kube-scheduler", "--config=/etc/kubernetes/scheduler.yaml"],
    }
    objects = [node("a"), node("b"), scheduler, pod("runs", on="a"), pod("fits"), pod("big", requests={"cpu": "6"})]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "items": objects}))
    return file


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(list(words))
    output = capsys.readouterr()
    return status, output.out, output.err


def test_why_says_causes_the_nearest_miss_and_fixes(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = ask(capsys, "why", "big", "--snapshot", str(dump))
    assert status == Exit.NO
    assert text.startswith("default/big fits no node: all nodes have less than 6 CPU free.\n")
    assert "Nearest miss: a lacks 2 CPU." in text
    assert "1. Lower the CPU request of container main from 6 to 4: then it fits" in text
    assert "as pod kube-system/kube-scheduler-a runs it" in text
    assert "/etc/kubernetes/scheduler.yaml is on the control plane" in text or "a dump does not have it" in text


def test_why_shows_the_best_nodes(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = ask(capsys, "why", "default/fits", "--snapshot", str(dump), "-o", "json")
    answer = json.loads(text)
    assert (status, answer["state"], len(answer["best"])) == (Exit.OK, "fits", 2)
    assert answer["best"][0]["total"] == sum(answer["best"][0]["scores"].values())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("why", "nobody"), "there is no pod default/nobody that has not ended"),
        (("why", "other/big"), "there is default/big"),
        (("why", "a/b/c"), "must be a pod"),
        (("why", "big", "--release", "x"), "release: must be one of"),
    ],
)
def test_wrong_questions_are_one_line(
    dump: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    status, text, error = ask(capsys, *words, "--snapshot", str(dump))
    assert (status, text, error.count("\n")) == (Exit.WRONG, "", 1)
    assert message in error


def test_pending_groups_by_cause(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = ask(capsys, "pending", "--snapshot", str(dump), "-o", "json")
    answer = json.loads(text)
    assert (status, answer["pending"]) == (Exit.NO, 2)
    assert [(group["state"], group["pods"]) for group in answer["groups"]] == [
        ("stuck", ["default/big"]),
        ("fits", ["default/fits"]),
    ]


@pytest.mark.parametrize(("replicas", "fits", "status"), [(3, 3, Exit.OK), (5, 4, Exit.NO)])
def test_fit_says_how_many_and_what_helps(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], replicas: int, fits: int, status: Exit
) -> None:
    container: dict[str, Any] = {"name": "web", "image": "web", "resources": {"requests": {"cpu": "1500m"}}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "template": {"metadata": {}, "spec": {"containers": [container]}}},
    }
    file = tmp_path / "web.json"
    file.write_text(json.dumps(deployment))
    answered, text, _ = ask(capsys, "fit", "-f", str(file), "--snapshot", str(dump), "-o", "json")
    (workload,) = json.loads(text)["workloads"]
    assert (answered, workload["fits"], workload["replicas"]) == (status, 4, replicas)
    assert sum(workload["by_node"].values()) == fits
    assert workload["next_pod"]["fixes"][0]["changes"][0]["kind"] == "lower_request"


def test_node_says_who_is_there_and_who_is_refused(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = ask(capsys, "node", "node/a", "--snapshot", str(dump), "-o", "json")
    answer = json.loads(text)
    assert (status, answer["node"]) == (Exit.OK, "a")
    assert {pod["pod"] for pod in answer["pods"]} == {"default/runs", "kube-system/kube-scheduler-a"}
    assert [group["pods"] for group in answer["refused"]] == [["default/big"]]
    status, text, _ = ask(capsys, "node", "a", "--snapshot", str(dump))
    assert "Insufficient cpu: default/big" in text
    assert ask(capsys, "node", "nobody", "--snapshot", str(dump))[0] == Exit.WRONG


def test_colours_are_for_terminals_alone(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = ask(capsys, "why", "big", "--snapshot", str(dump))
    assert "\x1b" not in text
