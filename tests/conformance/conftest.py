"""The real scheduler, for the tests that ask it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.reference import Reference
from tests.support.needs import missing


@pytest.fixture(scope="session")
def reference(assets: Path) -> Reference:
    found = Reference(assets)
    if not found.command.exists():
        missing("KUBEBUILDER_ASSETS holds no oracle")
    return found
