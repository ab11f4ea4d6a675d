"""A stock kube-scheduler, given the configuration to paste, places pods by the policy of a live scheduler here."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import urllib3
import yaml
from pytest_django import Settings

from kschedweb.engine.json_types import Json
from kschedweb.engine.state.watermarks import crane
from kschedweb.live.extender import services as extender
from kschedweb.live.extender.configuration import extender_configuration
from kschedweb.live.extender.middleware import TROUBLE
from kschedweb.live.extender.responder import responders
from kschedweb.live.schedulers import services
from kschedweb.live.schedulers.models import Candidate, LiveScheduler, Mode
from kschedweb.live.schedulers.rbac import EXTENDER, Needs, policy_rules, rights_for
from kschedweb.policies.services import policy_create
from tests.live.test_clusters_live import by_token
from tests.support.certificates import certificate
from tests.support.kubescheduler import PodWatch, kube_scheduler
from tests.support.processes import free_port, wait_until
from tests.support.tlssite import site_over_tls

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = [pytest.mark.live, pytest.mark.django_db(transaction=True)]

EMPTY = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
METRIC = "cpu_usage_avg_5m"
USE = [0.95, 0.6, 0.5, 0.7, 0.1, 0.6]  # of each node's CPU: node-0 is too busy for any pod, node-4 the idlest
WEIGHT = 50  # so that use decides, whatever kube-scheduler itself prefers
ARGS = {
    "timeZone": "UTC",
    "policy": {
        "syncPolicy": [{"name": METRIC, "period": "1h"}],
        "predicate": [{"name": METRIC, "maxLimitPecent": 0.8}],
        "priority": [{"name": METRIC, "weight": 1}],
    },
}
PROFILE = {
    "plugins": {"multiPoint": {"enabled": [{"name": "Dynamic", "weight": WEIGHT}]}},
    "pluginConfig": [{"name": "Dynamic", "args": ARGS}],
}


def node(number: int) -> Json:
    """A node whose use stands in the annotation of crane's annotator."""
    name = f"node-{number}"
    annotations = {METRIC: crane.write_usage(USE[number], time.time(), crane.time_zone("UTC"))}
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}


def pod(name: str, on: str = "") -> Json:
    container = {"name": "main", "image": "web:1", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    spec: Json = {"containers": [container]}
    if on:
        spec["nodeSelector"] = {"kubernetes.io/hostname": on}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def plane(control_plane: ControlPlane, settings: Settings) -> Iterator[ControlPlane]:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]
    control_plane.create_nodes([node(number) for number in range(len(USE))])
    control_plane.grant("limited", policy_rules(rights_for(Needs(EXTENDER, binds=True))))
    yield control_plane
    responders.close()
    control_plane.wipe()


@pytest.fixture
def live(plane: ControlPlane) -> LiveScheduler:
    """In mode extender, by a policy that goes by real use."""
    cluster, _ = by_token(plane, "limited")
    policy = policy_create(author=None, name="by-use", document=yaml.safe_dump(EMPTY | {"profiles": [PROFILE]}))
    return services.live_create(
        user=None, cluster=cluster, scheduler_name="default-scheduler", policy=policy, mode=Mode.EXTENDER
    )


class Pasted:
    """A stock kube-scheduler with the configuration of the page, and what becomes of pods."""

    def __init__(self, plane: ControlPlane, watch: PodWatch) -> None:
        self.plane, self.watch = plane, watch

    def place(self, name: str, on: str = "") -> Json:
        """The pod once it has a node, or a reason why it has none."""
        return self.create(pod(name, on))

    def create(self, raw: Json) -> Json:
        """As ``place``, for a pod of any kind."""
        self.plane.call("POST", "/api/v1/namespaces/default/pods", raw)
        key = f"default/{raw['metadata']['name']}"
        return self.watch.wait_for(key, _decided, "is neither placed nor said to be unschedulable")


def _decided(document: Json) -> bool:
    return bool(document["spec"].get("nodeName") or document["status"].get("conditions"))


def read_condition(document: Json) -> tuple[str, str]:
    """Reason and message of the pod's condition."""
    (condition,) = document["status"]["conditions"]
    return condition["reason"], condition["message"]


@dataclass
class Asking:
    """Asks as whoever knows ``secret``; ``folder`` holds the certificate of the site at ``address``."""

    live: LiveScheduler
    folder: Path
    address: str
    secret: str

    def __post_init__(self) -> None:
        self.http = urllib3.PoolManager(ca_certs=str(self.folder / "certificate.pem"))

    def __enter__(self) -> Asking:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.clear()  # a server that ends waits for TLS connections that are open

    def ask(self, verb: str, question: Json, secret: str = "") -> urllib3.BaseHTTPResponse:
        headers = urllib3.make_headers(basic_auth=f"kschedweb:{secret or self.secret}")
        url = f"{self.address}/extender/{self.live.pk}/{verb}"
        return self.http.request("POST", url, json=question, headers=headers)

    def about_no_node(self, secret: str = "", verb: str = "prioritize") -> urllib3.BaseHTTPResponse:
        return self.ask(verb, {"Pod": pod("asked"), "NodeNames": []}, secret)

    def wait_until_read(self) -> None:
        """Wait until the cluster is known here; the first question has it read."""

        def is_known() -> bool:
            answer = self.about_no_node()
            assert answer.status == 200, answer.data
            return TROUBLE not in answer.headers

        wait_until(is_known, "the extender has read the cluster")


@contextlib.contextmanager
def pasted(plane: ControlPlane, live: LiveScheduler, address: str, secret: str) -> Iterator[Pasted]:
    document = extender_configuration(live, address, secret)
    with kube_scheduler(plane, document), contextlib.closing(PodWatch(plane)) as watch:
        yield Pasted(plane, watch)


@pytest.mark.parametrize(
    "whole_nodes", [pytest.param(False, id="names"), pytest.param(True, id="whole nodes", marks=pytest.mark.nightly)]
)
def test_kube_scheduler_places_pods_by_use(
    plane: ControlPlane, live: LiveScheduler, tmp_path: Path, whole_nodes: bool
) -> None:
    authority = certificate(tmp_path).read_text()
    secret = extender.endpoint_secret_make(user=None, live=live)
    extender.endpoint_change(user=None, live=live, authority=authority, whole_nodes=whole_nodes, ignorable=False)
    with site_over_tls(tmp_path) as address, pasted(plane, live, address, secret) as stock:
        with Asking(live, tmp_path, address, secret) as asking:
            asking.wait_until_read()
        placed = [stock.place(f"pod-{number}") for number in range(5)]
        assert {document["spec"].get("nodeName") for document in placed} == {"node-4"}
        reason, message = read_condition(stock.place("stuck", on="node-0"))
        assert reason == "Unschedulable"
        assert message.startswith(
            "0/6 nodes are available: 1 Load[cpu_usage_avg_5m] of node[node-0] is too high, "
            "5 node(s) didn't match Pod's node affinity/selector."
        )


@pytest.mark.nightly
def test_a_pod_is_bound_here_where_that_is_switched_on(
    plane: ControlPlane, live: LiveScheduler, tmp_path: Path
) -> None:
    authority = certificate(tmp_path).read_text()
    secret = extender.endpoint_secret_make(user=None, live=live)
    extender.endpoint_change(user=None, live=live, authority=authority, binds=True, ignorable=False)
    with (
        site_over_tls(tmp_path) as address,
        Asking(live, tmp_path, address, secret) as asking,
        pasted(plane, live, address, secret) as stock,
    ):
        asking.wait_until_read()
        placed = stock.place("bound")
        assert placed["spec"]["nodeName"] == "node-4"
        managers = [entry["manager"] for entry in placed["metadata"]["managedFields"]]
        assert not any(name.startswith("kube-scheduler") for name in managers), managers
        other = pod("other")
        other["spec"]["schedulerName"] = "somebody-else"
        plane.call("POST", "/api/v1/namespaces/default/pods", other)
        uid = plane.call("GET", "/api/v1/namespaces/default/pods/other")["metadata"]["uid"]
        binding = {"PodName": "other", "PodNamespace": "default", "PodUID": uid, "Node": "node-0"}

        def refusal() -> str:
            return str(asking.ask("bind", binding).json()["Error"])

        wait_until(lambda: Candidate.objects.filter(scheduler=live, synced=True).exists(), "the heartbeat")
        assert Candidate.objects.get(scheduler=live).depths["nodes"] == len(USE)
        # Whoever knows the secret can have no other scheduler's pod bound.
        wait_until(lambda: refusal() == "kschedweb: the pod is another scheduler's: somebody-else", "the refusal")


@pytest.mark.nightly
def test_while_it_is_down_pods_are_placed_without_it_or_wait_and_nobody_reads_the_secret(
    plane: ControlPlane, live: LiveScheduler, tmp_path: Path
) -> None:
    authority = certificate(tmp_path).read_text()
    secret = extender.endpoint_secret_make(user=None, live=live)
    nowhere = f"https://127.0.0.1:{free_port()}"
    extender.endpoint_change(user=None, live=live, authority=authority)
    with pasted(plane, live, nowhere, secret) as stock:
        assert stock.place("placed")["spec"]["nodeName"]
    extender.endpoint_change(user=None, live=live, ignorable=False)
    with pasted(plane, live, nowhere, secret) as stock:
        reason, message = read_condition(stock.place("waiting"))
    assert reason == "SchedulerError"
    assert "connect: connection refused" in message
    assert "kschedweb:***@127.0.0.1" in message
    events = plane.call("GET", "/apis/events.k8s.io/v1/namespaces/default/events")
    assert secret not in str(events)


def test_wrong_secrets_open_nothing_and_are_counted(
    plane: ControlPlane, live: LiveScheduler, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificate(tmp_path)
    secret = extender.endpoint_secret_make(user=None, live=live)
    with site_over_tls(tmp_path) as address, Asking(live, tmp_path, address, secret) as asking:
        assert asking.about_no_node().status == 200
        statuses = [asking.about_no_node(f"{secret}x").status for _ in range(70)]
        assert statuses[0] == 401
        assert statuses[-1] == 429
        assert asking.about_no_node().status == 200
        assert asking.about_no_node(verb="anything").status == 404
    assert secret not in caplog.text
