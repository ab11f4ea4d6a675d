"""Outcomes that a job stores for a large snapshot's pending pods equal each pod's own decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.selectors import pod_rows
from kschedweb.decisions import services, snapshots
from kschedweb.decisions.models import PendingOutcomes
from kschedweb.decisions.pending import tasks
from kschedweb.decisions.pending.outcomes import (
    DecisionSummary,
    figures_version,
    find_summaries,
    pack_summaries,
    unpack_summaries,
    weighs_use,
)
from kschedweb.decisions.pending.services import work_out
from kschedweb.jobs.models import Job, JobState
from kschedweb.policies.models import Revision
from tests.decisions.conftest import HEAD, MOST_ALLOCATED, refs
from tests.support import seed_large
from tests.support.html import elements, html_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
OUTCOMES = st.builds(DecisionSummary, TEXT, st.integers(0, 5000), TEXT, st.lists(TEXT, max_size=3).map(tuple))
LOAD_AWARE = f"{HEAD}profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: TargetLoadPacking}}]}}}}}}]\n"


def ignore_step(text: str, completed: int, total: int) -> None:
    """Of a job that nobody looks at."""


def keys(snapshot: Snapshot) -> list[str]:
    rows = pod_rows(snapshot).filter(pending=True).values_list("namespace", "name")
    return [f"{space}/{name}" for space, name in rows]


@given(st.dictionaries(TEXT, OUTCOMES))
def test_what_is_kept_is_read_back(summaries: dict[str, DecisionSummary]) -> None:
    assert unpack_summaries(pack_summaries(summaries)) == summaries


@pytest.mark.parametrize("name", ["default", "most", "old"])
def test_what_is_kept_is_what_each_pod_is_told(
    demo: Snapshot, revision: Revision, policy: Callable[..., Revision], classic: Callable[..., Revision], name: str
) -> None:
    factories = {
        "default": lambda: revision,
        "most": lambda: policy("most", MOST_ALLOCATED),
        "old": lambda: classic("old", priorities=[{"name": "LeastRequestedPriority", "weight": 2}]),
    }
    answering = factories[name]()
    summaries = {key: services.summarize_pod(demo, answering, key) for key in keys(demo)}
    assert services.summarize_pods(demo, answering, refs(demo, summaries), seconds=60.0) == summaries
    assert work_out(snapshot=demo, revision=answering, step=ignore_step) == len(summaries)
    assert find_summaries(demo, answering) == summaries


def test_pods_that_no_plugin_can_tell_apart_are_asked_once(
    store_snapshot: Callable[..., Snapshot], revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = store_snapshot(list(seed_large.objects(30, 8_000)), "large")
    expected = {key: services.summarize_pod(large, revision, key) for key in keys(large)}
    asked_keys, summarize_pod = list[str](), services.summarize_pod

    def count_summarize(snapshot: Snapshot, revision: Revision, key: str) -> DecisionSummary:
        asked_keys.append(key)
        return summarize_pod(snapshot, revision, key)

    monkeypatch.setattr(services, "summarize_pod", count_summarize)
    work_out(snapshot=large, revision=revision, step=ignore_step)
    assert find_summaries(large, revision) == expected
    assert 0 < len(asked_keys) < len(expected) / 3


@pytest.fixture
def large(
    store_snapshot: Callable[..., Snapshot], demo_objects: list[Any], monkeypatch: pytest.MonkeyPatch
) -> Snapshot:
    """A cluster whose lists do not read it, as it arrives."""
    services.clear_caches()
    monkeypatch.setattr(services, "LISTED_AT_ONCE", 0)
    monkeypatch.setattr(services, "OVERVIEW_AT_ONCE", 0)
    return store_snapshot(demo_objects, "large")


def forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, in a process that knows nothing, no cluster is read."""

    def read(*_: object) -> None:
        raise AssertionError("a request reads the cluster")

    services.clear_caches()
    monkeypatch.setattr(snapshots, "snapshot_objects", read)


def test_the_first_pages_of_a_large_cluster_need_not_read_it(
    client_as: Callable[[str], Client], large: Snapshot, revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = Job.objects.filter(kind="decisions.pending", state=JobState.QUEUED)
    assert job.params == {"snapshot": str(large.pk)}
    tasks.pending(str(job.pk))
    job.refresh_from_db()
    assert (job.state, job.result["pods"]) == (JobState.SUCCEEDED, large.counts["pending"])
    forbid_reading(monkeypatch)
    overview = client_as("viewer").get("/", {"cluster": "large"})
    assert overview.context["explained_count"] == large.counts["pending"] == len(find_summaries(large, revision))
    pods = client_as("viewer").get("/pods/", {"cluster": "large", "pending": "true"})
    assert all(row.outcome is not None for row in pods.context["rows"])


def test_reasons_that_no_job_knows_come_after_the_page(
    client_as: Callable[[str], Client], large: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer, query = client_as("viewer"), {"cluster": "large"}
    with monkeypatch.context() as first:
        forbid_reading(first)
        page = viewer.get("/", query)
        assert (page.context["reasons"], page.context["explained_count"]) == ([], 0)
        (later,) = elements(page, "#reasons [hx-get]")
    htmx = {"HX-Request": "true"}
    part = viewer.get(later.attributes["hx-get"], headers=htmx)
    assert part.context["reasons"]
    assert "Insufficient cpu" in html_of(part)
    monkeypatch.setattr(services.snapshots, "READ_AT_ONCE", 0)
    services.clear_caches()
    assert "too large to be read here" in html_of(viewer.get(later.attributes["hx-get"], headers=htmx))


def test_small_clusters_and_those_without_pending_pods_need_no_job(
    store_snapshot: Callable[..., Snapshot], demo_objects: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    store_snapshot(demo_objects)
    monkeypatch.setattr(services, "LISTED_AT_ONCE", 0)
    store_snapshot([item for item in demo_objects if item["kind"] == "Node"])
    assert not Job.objects.filter(kind="decisions.pending").exists()


def test_other_figures_of_use_void_what_is_kept_for_policies_that_weigh_them(
    demo: Snapshot, revision: Revision, policy: Callable[..., Revision]
) -> None:
    aware = policy("aware", LOAD_AWARE)
    assert [weighs_use(demo, weighing) for weighing in (revision, aware)] == [False, True]
    for weighing in (revision, aware):
        work_out(snapshot=demo, revision=weighing, step=ignore_step)
        assert find_summaries(demo, weighing)
        assert PendingOutcomes.objects.get(revision=weighing).figures == figures_version(demo, weighing)
    PendingOutcomes.objects.update(figures="of another time")
    assert find_summaries(demo, revision)
    assert not find_summaries(demo, aware)
