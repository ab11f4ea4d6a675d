"""Hatchling's hooks: what the wheel holds beside the sources, and the packages of its extra ``site``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PIN = re.compile(r"^[\w.-]+(?:\[[\w,]+\])?==\S+", re.MULTILINE)
# `make wheel` makes them first; a wheel without them has no pages.
BUILT = ("frontend/templates", "frontend/dist", "staticfiles", "firstdata")


class SiteRequirements(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        """Pin for ``kschedweb[site]`` what requirements.txt pins."""
        text = (Path(self.root) / "requirements.txt").read_text(encoding="utf-8")
        metadata["optional-dependencies"] = {"site": PIN.findall(text)}


class BuiltFiles(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Put built pages and compiled catalogues into the package, where ``kschedweb.build.FILES`` looks for them."""
        root = Path(self.root)
        places = {name: f"kschedweb/built/{name}" for name in BUILT if (root / name).is_dir()}
        catalogues = root.glob("kschedweb/locale/*/LC_MESSAGES/*.mo")
        places |= {(name := str(path.relative_to(root))): name for path in catalogues}
        build_data["force_include"].update({str(root / name): place for name, place in places.items()})
