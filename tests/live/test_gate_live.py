"""The documented way to take a cluster's dump, with the real kubectl, and a verdict on what it wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.builders import node, pod
from tests.engine.studies.gates import PACKED
from tests.house.test_gate_document import SHELL, run_script
from tests.originals.kubectl import kubeconfig_file

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = pytest.mark.live
DUMP, JUDGE = SHELL[1], SHELL[0]
PODS = "/api/v1/namespaces/default/pods"


def test_the_dump_of_a_real_cluster_is_judged_as_it_is(
    control_plane: ControlPlane, kubectl_program: Path, tmp_path: Path
) -> None:
    control_plane.create_nodes(node(f"n{number}") for number in range(3))
    pods = [pod(f"p{number}", requests={"cpu": "500m", "memory": "1Gi"}) for number in range(6)]
    control_plane.create_all(PODS, pods)
    for number in range(4):
        control_plane.bind("default", f"p{number}", "n0")
    more = {"KUBECONFIG": str(kubeconfig_file(control_plane, tmp_path / "kube"))}
    (tmp_path / "policy.yaml").write_text(PACKED)
    dumped = run_script(f'kubectl() {{ {kubectl_program} "$@"; }}\n{DUMP}', tmp_path, **more)
    assert (dumped.returncode, dumped.stderr) == (0, "")
    kinds = {item["kind"] for item in json.loads((tmp_path / "cluster.json").read_text())["items"]}
    assert {"Node", "Pod", "Namespace", "Service", "PriorityClass"} <= kinds
    judged = run_script(JUDGE, tmp_path)
    assert (judged.returncode, judged.stderr) == (0, "")
    report: dict[str, Any] = json.loads(judged.stdout)
    assert (report["nodes"], report["pods"], report["notes"]) == (3, 6, [])
    moved = run_script(f"{JUDGE.strip()} --place pending --max-moved 0", tmp_path)
    assert moved.returncode == 1
    moved_report = json.loads(moved.stdout)
    # Of the two that wait, the policy puts both beside the four, and the defaults neither.
    assert moved_report["pods"] == 2
    assert {row["after"] for row in moved_report["checks"][1]["pods"]} == {"n0"}
