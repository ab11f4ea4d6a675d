"""The version of an imported cluster: said, in a file, or guessed from kubelets and told as a guess."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import cluster_import
from kschedweb.web.errors import ApplicationError
from tests.engine.builders import node, pod

pytestmark = pytest.mark.django_db
STATED = {"clientVersion": {"gitVersion": "v1.37.0"}, "serverVersion": {"major": "1", "gitVersion": "v1.35.2"}}


def kubelet(name: str, version: str) -> dict[str, Any]:
    raw = node(name)
    raw["status"]["nodeInfo"] = {"kubeletVersion": version}
    return raw


def imported(*more: dict[str, Any], version: str = "", replace: bool = False) -> tuple[str, bool]:
    objects = [kubelet("a", "v1.36.0"), kubelet("b", "v1.34.1"), node("c"), pod("p")]
    files = [("objects", json.dumps(objects)), *(("version", json.dumps(extra)) for extra in more)]
    cluster, _, read = cluster_import(
        user=None, name="dump", files=files, limit=1 << 20, version=version, replace=replace
    )
    assert read.left_out == 0
    saved = Cluster.objects.get(pk=cluster.pk)
    return saved.server_version, saved.version_guessed


def test_the_lowest_kubelet_is_a_guess() -> None:
    assert imported() == ("v1.34.1", True)


def test_what_kubectl_version_or_the_server_says_is_none() -> None:
    assert imported(STATED) == ("v1.35.2", False)
    assert imported({"major": "1", "minor": "36", "gitVersion": "v1.36.4-gke.1"}, replace=True) == (
        "v1.36.4-gke.1",
        False,
    )


def test_what_the_person_says_goes_first_and_stays_for_the_next_import() -> None:
    assert imported(STATED, version="1.33") == ("v1.33", False)
    assert imported(replace=True) == ("v1.33", False)
    with pytest.raises(ApplicationError, match=r"as 1\.34 or v1\.34\.1"):
        imported(version="newest", replace=True)


def test_a_guess_is_told_on_each_decision_and_beside_the_version(
    api_as: Callable[[str], Any], client_as: Callable[[str], Any]
) -> None:
    imported()
    answer = api_as("viewer").get("/api/v1/clusters/dump/pods/default/p/decision/?policy=default").json()
    assert answer["release"].startswith("1.34.")
    assert any("guessed from the kubelets (v1.34.1)" in warning for warning in answer["warnings"])
    assert api_as("viewer").get("/api/v1/clusters/dump/").json()["version_guessed"] is True
    page = client_as("viewer").get("/decision/dump/default/p/?policy=default")
    assert any("v1.34.1" in doubt for doubt in page.context["doubts"])
    for address in ("/clusters/dump/", "/clusters/", "/?cluster=dump"):
        assert "guessed" in client_as("viewer").get(address).content.decode()
