"""Examples are started once, on a site that begins with them and has what they need."""

from __future__ import annotations

from uuid import UUID

import pytest

from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.jobs import examples
from kschedweb.jobs.examples import SiteExample, examples_start, examples_want, list_examples, register_example
from kschedweb.jobs.models import Job
from kschedweb.playground.experiments.models import Experiment
from kschedweb.playground.gate.models import Gate
from kschedweb.playground.recordings.models import Recording
from kschedweb.playground.scenarios.ready_install import ready_place
from kschedweb.policies.models import Policy

pytestmark = pytest.mark.django_db


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> dict[str, SiteExample]:
    """Those that the apps registered; a test registers others in their place."""
    by_key = {example.key: example for example in list_examples()}
    monkeypatch.setattr(examples, "_examples", {})
    return by_key


def find_ids() -> set[UUID]:
    return {row.pk for model in (Experiment, Gate, Recording) for row in model.objects.all()}


def test_a_site_that_did_not_begin_with_them_gets_none() -> None:
    ready_place(keys={"demo-cluster"})
    assert examples_start() == 0
    assert not Job.objects.exists()


def test_one_that_is_not_possible_yet_is_made_later(registered: dict[str, SiteExample]) -> None:
    register_example(registered["recording"])
    examples_want()
    assert examples_start() == 0
    Cluster.objects.create(name="sandbox", source=ClusterSource.SANDBOX)
    assert examples_start() == 1
    assert find_ids() == {registered["recording"].id}
    assert examples_start() == 0


def test_one_that_cannot_be_started_leaves_nothing_and_stops_no_other(registered: dict[str, SiteExample]) -> None:
    register_example(registered["verdict"])
    register_example(registered["experiment"])
    examples_want()
    assert examples_start() == 1, "there is no scenario to judge a policy on"
    assert find_ids() == {registered["experiment"].id}
    assert not Policy.objects.filter(name="example-fill-nodes").exists()
    ready_place(keys={"demo-cluster"})
    assert examples_start() == 1
    assert find_ids() == {registered["experiment"].id, registered["verdict"].id}
