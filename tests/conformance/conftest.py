"""The real scheduler, for the tests that ask it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conformance.classic import ClassicReference
from tests.conformance.classic_evictions import Evictions
from tests.conformance.groups import Gangs
from tests.conformance.reference import Reference
from tests.engine.cel.cases import LANGUAGES
from tests.support.needs import missing


@pytest.fixture(scope="session")
def reference(assets: Path) -> Reference:
    reference_program = Reference(assets)
    if not reference_program.command.exists():
        missing("KUBEBUILDER_ASSETS holds no oracle")
    return reference_program


@pytest.fixture(scope="session", params=LANGUAGES)
def cel_reference(assets: Path, request: pytest.FixtureRequest) -> Reference:
    """kube-scheduler 1.36 and 1.37: from one to the other CEL has changed."""
    name = request.param
    variable = f"KUBEBUILDER_ASSETS_{name.replace('.', '_')}"
    for folder in (assets, Path(os.environ.get(variable) or assets)):
        if (folder / "oracle").exists() and (reference_program := Reference(folder)).release.name == name:
            return reference_program
    missing(f"set {variable} to a folder with the oracle of {name}")


@pytest.fixture(scope="session")
def classic_reference(assets: Path) -> ClassicReference:
    reference_program = ClassicReference(assets)
    if not reference_program.command.exists():
        missing("KUBEBUILDER_ASSETS holds no oracle-classic")
    return reference_program


@pytest.fixture(scope="session")
def gangs() -> Gangs:
    program = os.environ.get("GANGS")
    if not program:
        missing("GANGS is not set: tests/originals/build gangs")
    return Gangs(Path(program))


@pytest.fixture(scope="session")
def evictions() -> Evictions:
    program = os.environ.get("PREEMPT113")
    if not program:
        missing("PREEMPT113 is not set: tests/originals/build preempt113")
    return Evictions(Path(program))


@pytest.fixture(scope="session")
def kubelet() -> Path:
    program = os.environ.get("KUBELET")
    if not program:
        missing("KUBELET is not set: tests/originals/build kubelet")
    return Path(program)


@pytest.fixture(scope="session")
def hpa() -> Path:
    program = os.environ.get("HPA")
    if not program:
        missing("HPA is not set: tests/originals/build hpa")
    return Path(program)


@pytest.fixture(scope="session")
def descheduler() -> Path:
    program = os.environ.get("DESCHEDULER")
    if not program:
        missing("DESCHEDULER is not set: oracles/build-fast in the folder of recorded data")
    return Path(program)


@pytest.fixture(scope="session")
def karpenter() -> Path:
    program = os.environ.get("KARPENTER")
    if not program:
        missing("KARPENTER is not set: oracles/build-fast in the folder of recorded data")
    return Path(program)
