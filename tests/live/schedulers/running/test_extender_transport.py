"""Extenders that a live scheduler may ask: the operator's list, at every step from saving to connecting."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from pytest_django import Settings

from kschedweb.clusters.connecting import addresses
from kschedweb.clusters.services import demo_load
from kschedweb.engine.extenders.extender import TransportError
from kschedweb.live.schedulers import services
from kschedweb.live.schedulers.models import LiveScheduler, Mode
from kschedweb.live.schedulers.running.extender_transport import make_transport
from kschedweb.live.schedulers.running.runs import make_run
from kschedweb.policies.models import Revision
from kschedweb.policies.services import policy_create
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Cluster
    from kschedweb.policies.models import Policy

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
URL = "extenders[0].urlPrefix"


def extender(prefix: str = "https://gate.example.com/scheduler", **more: Any) -> dict[str, Any]:
    return {"urlPrefix": prefix, "filterVerb": "filter", **more}


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Every name leads to ``answers``; the names that were asked for."""
    names: list[str] = []

    def resolve(host: str, _port: int) -> list[str]:
        names.append(host)
        return list(answers)

    monkeypatch.setattr(addresses, "resolve_host", resolve)
    return names


@pytest.fixture(autouse=True)
def allowed(settings: Settings) -> None:
    """Clusters anywhere, extenders at one name and in one network."""
    settings.CLUSTER_ALLOWLIST, settings.CLUSTER_ALLOW_INSECURE = ["0.0.0.0/0", "*"], True
    settings.EXTENDER_ALLOWLIST, settings.EXTENDER_ALLOW_INSECURE = ["gate.example.com", "10.9.0.0/16"], False


def refused(*extenders: dict[str, Any]) -> dict[str, str]:
    """Return the errors of refused extenders, by path."""
    with pytest.raises(Unprocessable) as caught:
        make_transport(extenders)
    return {problem["path"]: problem["message"] for problem in caught.value.errors}


def test_what_the_operator_lists_may_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    names = resolving(monkeypatch, "93.184.216.34")
    make_transport([extender()])
    assert names == ["gate.example.com"]
    resolving(monkeypatch, "10.9.3.4")
    make_transport([extender("https://anything.internal:8443/a/b/", prioritizeVerb="v1/prioritize")])


@pytest.mark.parametrize(
    ("prefix", "reason"),
    [
        ("http://gate.example.com/scheduler", "KSCHEDWEB_EXTENDER_ALLOW_INSECURE"),
        ("https://gate.example.com/scheduler?token=x", "no ? or # part"),
        ("https://gate.example.com/scheduler#there", "no ? or # part"),
        ("https://me:secret@gate.example.com/", "must not carry a user name"),
        ("ftp://gate.example.com/", "is not an address such as"),
        ("https://169.254.169.254/latest", "no request may go to"),
        ("https://100.100.100.200/", "no request may go to"),
        ("https://10.8.0.1/", "KSCHEDWEB_EXTENDER_ALLOWLIST"),
        ("https://[::ffff:10.8.0.1]/", "KSCHEDWEB_EXTENDER_ALLOWLIST"),
    ],
)
def test_an_address_is_refused_before_anything_is_looked_up(
    monkeypatch: pytest.MonkeyPatch, prefix: str, reason: str
) -> None:
    names = resolving(monkeypatch, "93.184.216.34")
    assert reason in refused(extender(prefix))[URL]
    assert not names


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (["169.254.169.254"], "no request may go to"),
        (["93.184.216.34", "10.8.0.1"], "KSCHEDWEB_EXTENDER_ALLOWLIST"),
        (["127.0.0.1"], "KSCHEDWEB_EXTENDER_ALLOWLIST"),
        ([], "cannot be resolved"),
    ],
)
def test_what_a_listed_name_leads_to_is_checked_as_well(
    monkeypatch: pytest.MonkeyPatch, answers: list[str], reason: str
) -> None:
    resolving(monkeypatch, *answers)
    assert reason in refused(extender())[URL]


def test_the_list_of_clusters_says_nothing_about_extenders(settings: Settings) -> None:
    settings.EXTENDER_ALLOWLIST = []
    assert "allows no address of an extender yet" in refused(extender("https://10.9.0.1"))[URL]


def test_every_extender_is_named_with_all_that_is_wrong() -> None:
    tls = {"insecure": True, "caFile": "/etc/ca.pem"}
    problems = refused(
        extender("https://10.9.0.1"),
        extender("https://10.9.0.1", filterVerb="filter?to=elsewhere", bindVerb="../../admin", tlsConfig=tls),
    )
    assert sorted(problems) == [
        f"extenders[1].{field}" for field in ("bindVerb", "filterVerb", "tlsConfig.caFile", "tlsConfig.insecure")
    ]


class ExtenderHandler(BaseHTTPRequestHandler):
    """Notes who was meant, and sends to another place."""

    hosts: list[str]

    def do_POST(self) -> None:
        self.hosts.append(self.headers["Host"])
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200 if self.path == "/scheduler/filter" else 302)
        self.send_header("Location", f"http://{self.headers['Host']}/scheduler/filter")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[int, list[str]]]:
    """The port of a server on this machine, and the hosts it was asked as."""
    hosts: list[str] = []
    listening = ThreadingHTTPServer(("127.0.0.1", 0), type("Noting", (ExtenderHandler,), {"hosts": hosts}))
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    yield listening.server_address[1], hosts
    listening.shutdown()
    listening.server_close()


def test_the_connection_goes_to_the_checked_address_whatever_the_name_says_later(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, server: tuple[int, list[str]]
) -> None:
    port, hosts = server
    settings.EXTENDER_ALLOWLIST, settings.EXTENDER_ALLOW_INSECURE = ["127.0.0.1"], True
    names = resolving(monkeypatch, "127.0.0.1")
    post = make_transport([extender(f"http://gate.example.com:{port}/scheduler")])
    resolving(monkeypatch, "169.254.169.254")
    assert post(f"http://gate.example.com:{port}/scheduler/filter", b"{}", 10)[0] == 200
    # A redirect is an answer that is no answer: nobody goes there.
    assert post(f"http://gate.example.com:{port}/scheduler/away", b"{}", 10)[0] == 302
    assert names == ["gate.example.com"]
    assert hosts == [f"gate.example.com:{port}"] * 2
    with pytest.raises(TransportError, match="belongs to no extender"):
        post("https://elsewhere.example.com/scheduler/filter", b"{}", 10)


# What is to run.


def document(prefix: str) -> str:
    return yaml.safe_dump({**HEAD, "profiles": [{"schedulerName": "batch"}], "extenders": [extender(prefix)]})


@pytest.fixture
def listed(admin: User) -> Policy:
    return policy_create(name="listed", document=document("https://10.9.0.1/scheduler"), author=admin)


@pytest.fixture
def elsewhere(editor: User) -> Revision:
    """Revision that an editor may save: as a document it does no harm."""
    return policy_create(name="elsewhere", document=document("http://10.8.0.1/admin"), author=editor).revisions.get()


def test_nothing_that_may_not_be_asked_is_put_to_work(
    connected: Cluster, listed: Policy, elsewhere: Revision, admin: User, settings: Settings
) -> None:
    fields: dict[str, Any] = {"user": admin, "cluster": connected}
    with pytest.raises(Unprocessable) as caught:
        services.live_create(scheduler_name="batch", policy=elsewhere.policy, **fields)
    assert {problem["path"] for problem in caught.value.errors} == {URL}
    live = services.live_create(scheduler_name="batch", policy=listed, mode=Mode.SHADOW, **fields)
    assert live.revision is not None
    with pytest.raises(Unprocessable):
        services.live_roll_out(user=admin, live=live, revision=elsewhere, expected=live.revision)
    settings.EXTENDER_ALLOWLIST = ["10.7.0.0/16"]
    with pytest.raises(Unprocessable, match=r"extenders\[0\].urlPrefix: 10.9.0.1 is not among the addresses"):
        services.live_set_mode(user=admin, live=live, mode=Mode.SCHEDULING)
    services.live_set_mode(user=admin, live=live, mode=Mode.OFF)
    settings.EXTENDER_ALLOWLIST = ["10.9.0.1"]
    live = services.live_set_mode(user=admin, live=live, mode=Mode.SCHEDULING)
    assert LiveScheduler.objects.get().revision == listed.revisions.get()
    # Another list by the time that a process begins it.
    settings.EXTENDER_ALLOWLIST = []
    with pytest.raises(Unprocessable, match="allows no address of an extender yet"):
        make_run(live, "test")


def test_the_refusal_stands_beside_the_policy_and_at_its_path(
    connected: Cluster,
    listed: Policy,
    elsewhere: Revision,
    client_as: Callable[[str], Client],
    api_as: Callable[[str], APIClient],
) -> None:
    body = {"cluster": "here", "scheduler_name": "batch", "policy": "elsewhere"}
    answer = api_as("admin").post("/api/v1/live/", body)
    assert answer.status_code == 422
    assert [error["path"] for error in answer.json()["errors"]] == [URL]
    form = body | {
        "mode": "off", "lock": "leases", "lease_namespace": "kube-system", "qps": "50", "burst": "100",
        "keep_decisions": "1000", "keep_days": "7", "keep_columns": "10",
    }  # fmt: skip
    page = client_as("admin").post("/live/new/", form)
    assert page.status_code == 422
    assert 'class="field-error" id="id_policy-error"' in page.content.decode()
    assert f"{URL}: 10.8.0.1 is not among the addresses" in page.content.decode()
    created = api_as("admin").post("/api/v1/live/", body | {"policy": "listed"}).data
    review = client_as("admin").get(f"/live/{created['id']}/rollout/?policy=elsewhere").content.decode()
    assert "This revision cannot be rolled out." in review
    assert f"<code>{URL}</code>: 10.8.0.1 is not among" in review


def test_simulations_and_explanations_ask_nobody(
    admin: User,
    settings: Settings,
    server: tuple[int, list[str]],
    api_as: Callable[[str], APIClient],
    plain_demo: None,
) -> None:
    settings.EXTENDER_ALLOWLIST, settings.EXTENDER_ALLOW_INSECURE = ["127.0.0.0/8"], True
    demo_load(user=admin)
    port, hosts = server
    asking = document(f"http://127.0.0.1:{port}/scheduler").replace("batch", "default-scheduler")
    policy_create(name="asking", document=asking, author=admin)
    pod = api_as("viewer").get("/api/v1/clusters/demo/pods/?pending=false").data["results"][0]
    address = f"/api/v1/clusters/demo/pods/{pod['namespace']}/{pod['name']}/decision/?policy=asking"
    answer = api_as("viewer").get(address)
    assert f"http://127.0.0.1:{port}/scheduler" in answer.content.decode()  # which would have had a say
    assert hosts == []
