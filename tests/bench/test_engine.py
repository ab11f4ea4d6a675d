"""The engine beside kube-scheduler's own code, on the recorded cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.support import openb

CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "parallelism": 1}


def test_throughput_beside_the_scheduler_s(
    shared: Path, oracle: Callable[[str, str], Any], report: Callable[..., None]
) -> None:
    scenario = json.dumps(
        {"name": "openb", "config": CONFIG, "objects": openb.nodes(shared), "pending": openb.pods(shared, 1000)}
    )
    theirs = oracle("bench", scenario)
    command = [sys.executable, "-m", "kschedweb.engine", "schedule", "--summary"]
    done = subprocess.run(command, cwd=ROOT, input=scenario, capture_output=True, text=True, timeout=600, check=True)
    ours = json.loads(done.stdout)
    assert ours["Scheduled"] == theirs["Scheduled"]
    ratio = ours["PodsPerSecond"] / theirs["PodsPerSecond"]
    remark = (
        f"{ours['PodsPerSecond']:.0f} pods/s; kube-scheduler {theirs['PodsPerSecond']:.0f}: {ratio:.2f} times as fast"
    )
    report("schedule a pod, 1,523 nodes", [1000 / ours["PodsPerSecond"]], remark=remark)
