"""A live scheduler to work on; its cluster is a row only, nobody answers at its address."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.live.schedulers import services
from kschedweb.live.schedulers.models import LiveScheduler
from kschedweb.policies.models import Policy

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


@pytest.fixture
def connected(db: None) -> Cluster:
    return Cluster.objects.create(name="here", source=ClusterSource.TOKEN, server="https://192.0.2.1:6443")


@pytest.fixture
def default_policy(db: None) -> Policy:
    return Policy.objects.get(name="default")


@pytest.fixture
def live(connected: Cluster, default_policy: Policy, admin: User) -> LiveScheduler:
    """One that is off."""
    return services.live_create(user=admin, cluster=connected, scheduler_name="kschedweb", policy=default_policy)
