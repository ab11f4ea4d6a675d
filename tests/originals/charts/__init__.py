"""The real helm and kubeconform, over the chart of this checkout."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from kschedweb.engine.json_types import Json
from tests.support.needs import missing
from tests.support.site import ROOT

CHART = ROOT / "deploy" / "helm" / "kschedweb"


class Helm:
    """The real helm over the chart of this checkout."""

    def __init__(self, folder: Path) -> None:
        self.program, self.kubeconform, self.crds = folder / "helm", folder / "kubeconform", folder / "crds.yaml"

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HELM_CACHE_HOME": "/nonexistent", "HELM_CONFIG_HOME": "/nonexistent"}
        command = [str(self.program), *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)

    def refused(self, **values: str) -> str:
        """Return helm's refusal of ``values``."""
        process = self._template(values)
        assert process.returncode, "helm took the values"
        return process.stderr

    def text(self, values: dict[str, str] | None = None, templates: Iterable[str] = ()) -> str:
        """The manifests with ``values`` (``{"web.replicas": "3"}``); of ``templates`` alone, or of all."""
        process = self._template(values or {}, templates)
        assert process.returncode == 0, process.stderr
        return process.stdout

    def objects(self, values: dict[str, str] | None = None, templates: Iterable[str] = ()) -> list[Json]:
        return [item for item in yaml.safe_load_all(self.text(values, templates)) if item]

    def _template(self, values: dict[str, str], templates: Iterable[str] = ()) -> subprocess.CompletedProcess[str]:
        set_options = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
        template_options = [word for name in templates for word in ("--show-only", f"templates/{name}.yaml")]
        return self.run(
            "template", "kschedweb", str(CHART), "--namespace", "kschedweb", *set_options, *template_options
        )


@pytest.fixture(scope="session")
def helm() -> Helm:
    """helm and kubeconform (``CHARTS``)."""
    folder = os.environ.get("CHARTS")
    if not folder:
        missing("set CHARTS to what tests/originals/build charts prints")
    return Helm(Path(folder))
