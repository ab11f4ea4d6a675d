"""The release of kube-scheduler that decides: the policy's, else the cluster's, else the current one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.clusters.models import Cluster, Snapshot
from kschedweb.decisions import services
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import CURRENT, RELEASES
from kschedweb.policies.models import Revision

from .conftest import HEAD

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

BALANCE = "NodeResourcesBalancedAllocation"


def as_release(demo: Snapshot, api: APIClient) -> tuple[str, dict[str, int]]:
    """(the release that decided, the balance scores of a pod by node)"""
    services.clear_answers()
    answer: Json = api.get("/api/v1/clusters/demo/pods/ml/notebook/decision/?policy=asked").json()
    return answer["release"], answer["scores"][BALANCE]["raw"]


@pytest.fixture
def revision_asked(policy: Callable[[str, str], Revision]) -> Revision:
    return policy("asked", HEAD)


def set_process(revision: Revision, **process: Any) -> None:
    revision.process = process
    revision.save(update_fields=["process"])


def test_the_policys_release_decides(
    demo: Snapshot, revision_asked: Revision, api_as: Callable[[str], APIClient]
) -> None:
    """Up to 1.35 the balance itself is scored, since 1.36 its change."""
    scores = {}
    for name, release in RELEASES.items():
        set_process(revision_asked, release=name)
        version, scores[name] = as_release(demo, api_as("viewer"))
        assert version == release.version
    assert scores["1.34"] == scores["1.35"] != scores["1.36"] == scores["1.37"]


@pytest.mark.parametrize(
    ("version", "release"),
    [("v1.35.9-gke.100", "1.35"), ("v1.29.0", "1.34"), ("v1.40.1", "1.38"), ("", CURRENT.name)],
)
def test_else_the_clusters_version_decides_or_the_nearest(
    demo: Snapshot, revision_asked: Revision, api_as: Callable[[str], APIClient], version: str, release: str
) -> None:
    Cluster.objects.filter(pk=demo.cluster_id).update(server_version=version)
    assert as_release(demo, api_as("viewer"))[0] == RELEASES[release].version


def test_the_page_says_which(demo: Snapshot, revision_asked: Revision, client_as: Callable[[str], Client]) -> None:
    set_process(revision_asked, release="1.35")
    services.clear_answers()
    page = client_as("viewer").get("/decision/demo/ml/notebook/?policy=asked").content.decode()
    assert "1.35.4" in page


def test_a_version_that_is_not_known_is_told_with_the_nearest_release(
    demo: Snapshot,
    revision_asked: Revision,
    client_as: Callable[[str], Client],
    api_as: Callable[[str], APIClient],
) -> None:
    Cluster.objects.filter(pk=demo.cluster_id).update(server_version="v1.33.4")
    services.clear_answers()
    release_warning = "kube-scheduler 1.33 is not known here: 1.34, the nearest release, answers."
    viewer = client_as("viewer")
    assert release_warning in viewer.get("/decision/demo/ml/notebook/?policy=asked").content.decode()
    answer = api_as("viewer").get("/api/v1/clusters/demo/pods/ml/notebook/decision/?policy=asked").json()
    assert (answer["release"], release_warning in answer["warnings"]) == (RELEASES["1.34"].version, True)
    remark = "This cluster runs 1.33; kschedweb answers as 1.34, the nearest release that it knows."
    assert remark in viewer.get("/clusters/demo/").content.decode()
    cluster = api_as("viewer").get("/api/v1/clusters/demo/").json()
    assert (cluster["release"], cluster["release_remark"]) == ("1.34", remark)


def test_of_a_known_version_nothing_is_told(
    demo: Snapshot, revision_asked: Revision, api_as: Callable[[str], APIClient]
) -> None:
    Cluster.objects.filter(pk=demo.cluster_id).update(server_version="v1.36.3")
    services.clear_answers()
    cluster = api_as("viewer").get("/api/v1/clusters/demo/").json()
    assert (cluster["release"], cluster["release_remark"]) == ("1.36", "")
    set_process(revision_asked, release="1.39")
    answer = api_as("viewer").get("/api/v1/clusters/demo/pods/ml/notebook/decision/?policy=asked").json()
    assert (
        "kube-scheduler 1.39 is not known here: 1.38 preview (1.38.0-beta.0), the nearest release, answers."
        in answer["warnings"]
    )
