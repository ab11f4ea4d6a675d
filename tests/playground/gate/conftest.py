"""A small cluster that is known to the site."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Snapshot
from kschedweb.playground.scenarios import selectors as scenarios
from tests.decisions.conftest import stored
from tests.engine.studies.gates import cluster

__all__ = ["stored"]


@pytest.fixture(autouse=True)
def forgotten() -> None:
    scenarios._prepared.clear()


@pytest.fixture
def small(stored: Callable[..., Snapshot]) -> Snapshot:
    """Four nodes, six pods."""
    return stored(cluster(), "small")


@pytest.fixture
def saved(editor: User) -> str:
    """The name of a policy that fills nodes up."""
    from kschedweb.policies.services import policy_create
    from tests.engine.studies.gates import PACKED

    policy_create(name="packed", document=PACKED, author=editor)
    return "packed"
