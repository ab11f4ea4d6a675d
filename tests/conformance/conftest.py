"""The real scheduler, for the tests that ask it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conformance.classic import ClassicReference
from tests.conformance.groups import Gangs
from tests.conformance.reference import Reference
from tests.support.needs import missing


@pytest.fixture(scope="session")
def reference(assets: Path) -> Reference:
    found = Reference(assets)
    if not found.command.exists():
        missing("KUBEBUILDER_ASSETS holds no oracle")
    return found


@pytest.fixture(scope="session")
def reference_1_36(assets: Path) -> Reference:
    """kube-scheduler 1.36, whose CEL the engine's is."""
    for folder in (assets, Path(os.environ.get("KUBEBUILDER_ASSETS_1_36") or assets)):
        if (folder / "oracle").exists() and (found := Reference(folder)).release.name == "1.36":
            return found
    missing("set KUBEBUILDER_ASSETS_1_36 to a folder with the oracle and the kube-scheduler of 1.36")


@pytest.fixture(scope="session")
def classic_reference(assets: Path) -> ClassicReference:
    found = ClassicReference(assets)
    if not found.command.exists():
        missing("KUBEBUILDER_ASSETS holds no oracle-classic")
    return found


@pytest.fixture(scope="session")
def gangs() -> Gangs:
    program = os.environ.get("GANGS")
    if not program:
        missing("GANGS is not set: tests/support/gangs/build")
    return Gangs(Path(program))
