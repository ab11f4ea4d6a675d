"""A small cluster that is known to the site."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Snapshot
from kschedweb.playground.scenarios import selectors as scenarios
from kschedweb.playground.trying import services
from tests.decisions.conftest import store_snapshot
from tests.engine.studies.gates import cluster

__all__ = ["store_snapshot"]


@pytest.fixture(autouse=True)
def clear_caches() -> None:
    scenarios._prepared.clear()
    services._prepared.clear()
    services._outcomes.clear()
    services._previews.clear()


@pytest.fixture
def small(store_snapshot: Callable[..., Snapshot]) -> Snapshot:
    """Four nodes, six pods."""
    return store_snapshot(cluster(), "small")


@pytest.fixture
def packed_policy(editor: User) -> str:
    """The name of a policy that fills nodes up."""
    from kschedweb.policies.services import policy_create
    from tests.engine.studies.gates import PACKED

    policy_create(name="packed", document=PACKED, author=editor)
    return "packed"
