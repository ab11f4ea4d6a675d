"""The sandbox of these tests, as a cluster of the site."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import sandbox_connect
from tests.support.sandbox import use_sandbox


@pytest.fixture
def cluster(db: None, settings: Settings, sandbox_address: str) -> Cluster:
    """The sandbox that stands still, connected."""
    use_sandbox(settings, sandbox_address)
    return sandbox_connect()[0]
