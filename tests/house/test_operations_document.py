"""docs/operations.md: Prometheus takes its alerts, and every series in them is one that a process here serves."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from kschedweb.live.extender import metrics as extender
from kschedweb.live.schedulers.metrics import exposition
from tests.conftest import ROOT
from tests.support.needs import missing

RULES = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "operations.md").read_text(encoding="utf-8"), re.DOTALL)[0]
OF_PROMETHEUS = {"up"}


@pytest.mark.server
def test_prometheus_takes_the_alerts(tmp_path: Path) -> None:
    if not shutil.which("promtool"):
        missing("install prometheus")
    (tmp_path / "rules.yaml").write_text(RULES)
    command = ["promtool", "check", "rules", "rules.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr + done.stdout


def test_every_series_of_the_alerts_is_served_here() -> None:
    assert extender.__name__  # its series are registered where it is imported
    served = set(re.findall(r"^# TYPE (\w+) ", exposition()[0].decode(), re.MULTILINE)) | OF_PROMETHEUS
    (group,) = yaml.safe_load(RULES)["groups"]
    named = {name for rule in group["rules"] for name in re.findall(r"(\w+)(?:\{|\[)", rule["expr"])}
    assert named
    assert {name.removesuffix("_bucket") for name in named} <= served
