"""A recorded cluster of 1,523 nodes on a real API server: connected by token, and every decision as the scheduler's."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.engine import Scheduler, Snapshot
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from tests.support import openb
from tests.support.browser import window
from tests.support.forms import choose_strategy, save_policy
from tests.support.site import PASSWORD, Site, made_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.controlplane import ControlPlane

CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
COMPARED = 50
RESOURCES = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
# Kinds that the scheduler reads, in the API's own lists.
LISTS = ("/api/v1/namespaces", "/api/v1/nodes", "/api/v1/services", "/api/v1/pods", "/apis/apps/v1/replicasets")


@pytest.fixture(scope="module")
def recorded(control_plane: ControlPlane) -> ControlPlane:
    """The nodes and the first 2,000 pods, of which the engine placed the first 1,000."""
    nodes, pods = openb.nodes(), openb.pods(2000)
    assert len(nodes) == 1523
    snapshot = Snapshot.from_objects([*nodes, *pods])
    configuration = load(CONFIG).configuration
    assert configuration is not None
    placements = Scheduler(snapshot, configuration).schedule_pods(snapshot.pending[:1000])
    placed = {placement.pod.partition("/")[2]: placement.node for placement in placements}
    assert sum(map(bool, placed.values())) > 900

    control_plane.create_nodes(nodes)
    # As they would be while waiting: the status is the API server's own.
    control_plane.create_all("/api/v1/namespaces/default/pods", ({**pod, "status": {}} for pod in pods))
    bound = [(name, node) for name, node in placed.items() if node]
    control_plane.parallel(lambda item: control_plane.bind("default", *item), bound)
    return control_plane


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site of its own, made by `make run`, whose operator allows loopback."""
    folder = tmp_path_factory.mktemp("first-run")
    settings = {
        "KSCHEDWEB_ADMIN_PASSWORD": PASSWORD,
        "KSCHEDWEB_CLUSTER_ALLOWLIST": "127.0.0.0/8",
        "KSCHEDWEB_SANDBOX": "false",
    }
    with made_run(folder, **settings) as run:
        run.site.login("admin", PASSWORD)
        yield run.site


@pytest.fixture(scope="module")
def imported(site: Site, recorded: ControlPlane) -> str:
    """The recorded cluster, connected by the token of a user who may only read."""
    form = {
        "name": "openb",
        "source": "token",
        "server": recorded.url,
        "token": recorded.tokens["reader"],
        "ca": recorded.ca,
    }
    begun = time.monotonic()
    connected = site.ask("POST", "clusters/", form)
    site.wait_for_job(connected["job"]["id"])
    seconds = time.monotonic() - begun
    assert seconds <= 15, f"connected and imported in {seconds:.1f} s"
    return "openb"


def objects_of(plane: ControlPlane) -> list[Json]:
    """Return the objects that the scheduler would read, in the API server's order."""
    documents = []
    for path in LISTS:
        listed = plane.call("GET", path)
        kind = listed["kind"].removesuffix("List")
        documents += [{"apiVersion": listed["apiVersion"], "kind": kind, **item} for item in listed["items"]]
    return documents


def compare(site: Site, cluster: str, plane: ControlPlane, oracle: Callable[[str, str], Any], config: Json) -> None:
    """The decisions over REST equal those of the oracle, key by key."""
    objects = objects_of(plane)
    pods = [item for item in objects if item["kind"] == "Pod"]
    waiting = [pod for pod in pods if not pod["spec"].get("nodeName")]
    assert len(waiting) >= COMPARED
    # Spread over all that wait, so that large and small ones are among them.
    pending = waiting[:: len(waiting) // COMPARED][:COMPARED]
    remaining = [item for item in objects if item["kind"] != "Pod"] + [
        pod for pod in pods if pod["spec"].get("nodeName")
    ]
    scenario = {"name": "openb", "config": config, "objects": remaining, "pending": pending, "mode": "each"}
    (answer,) = oracle("explain", json.dumps(scenario))
    assert len(answer["pods"]) == COMPARED
    for expected in answer["pods"]:
        decision = site.ask("GET", f"clusters/{cluster}/pods/{expected['pod']}/decision/?policy=default")
        expected.pop("preemption", None)
        actual = {key: decision.get(key) for key in expected}
        assert actual == expected, expected["pod"]


@pytest.mark.nightly
def test_counts_are_those_of_the_api_server(site: Site, imported: str) -> None:
    counts = site.ask("GET", f"clusters/{imported}/")["counts"]
    assert counts["Node"] == 1523
    assert counts["Pod"] == 2000


@pytest.mark.nightly
def test_decisions_equal_the_scheduler_s_before_and_after_the_strategy_is_switched_in_the_form(
    site: Site, imported: str, recorded: ControlPlane, oracle: Callable[[str, str], Any], browser: Browser
) -> None:
    compare(site, imported, recorded, oracle, CONFIG)

    with window(browser, site) as page:
        page.goto(f"/policies/default/?cluster={imported}")
        choose_strategy(page, "MostAllocated")
        save_policy(page)

    newest = site.ask("GET", "policies/default/revisions/")["results"][0]
    assert newest["number"] == 2
    arguments = {"scoringStrategy": {"type": "MostAllocated", "resources": RESOURCES}}
    profile = {"pluginConfig": [{"name": "NodeResourcesFit", "args": arguments}]}
    compare(site, imported, recorded, oracle, {**CONFIG, "profiles": [profile]})
