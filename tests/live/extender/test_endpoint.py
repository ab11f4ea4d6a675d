"""Answers at kube-scheduler's address, whatever it sends, and in whatever state the endpoint is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.db import OperationalError

from kschedweb.live.extender import middleware, services
from kschedweb.live.extender import responder as module
from kschedweb.live.extender.middleware import TROUBLE
from kschedweb.live.extender.responder import Responders, read_settings
from kschedweb.live.schedulers.metrics import REGISTRY
from kschedweb.live.schedulers.models import Mode
from tests.engine.builders import node, pod
from tests.live.extender.test_services import header
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from django.http import HttpResponse
    from django.test import Client
    from pytest_django import Settings

    from kschedweb.clusters.following.view import View
    from kschedweb.live.schedulers.models import LiveScheduler

pytestmark = pytest.mark.django_db(transaction=True)

Ask = Callable[..., Any]
QUESTION = {"Pod": pod("p", requests={"cpu": "2"}), "NodeNames": ["full", "empty"]}


def full_and_empty(_: LiveScheduler, view: View) -> Callable[[], None]:
    """Stands for the reflectors: the cluster as they would tell it, once."""
    view.replace("Node", [node("full"), node("empty")])
    view.replace("Pod", [pod("a", on="full", requests={"cpu": "3"})])
    return lambda: None


def unheard(_: LiveScheduler, view: View) -> Callable[[], None]:
    return lambda: None


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Responders]]:
    """Puts responders of a kind at the address."""
    pools: list[Responders] = []

    def put(connect: Any = full_and_empty, read: Any = read_settings) -> Responders:
        pools.append(Responders(connect, read))
        monkeypatch.setattr(middleware, "responders", pools[-1])
        return pools[-1]

    yield put
    for responders in pools:
        responders.close()


@pytest.fixture
def ask(client: Client, live: LiveScheduler, opened: Callable[..., Responders]) -> Ask:
    """Ask as kube-scheduler does; the endpoint decides with NodeResourcesFit."""
    opened()
    live.mode = Mode.EXTENDER
    live.save()
    services.endpoint_change(user=None, live=live, plugins=["NodeResourcesFit"], preempts=True)
    secret = services.endpoint_secret_make(user=None, live=live)

    def post(verb: str, body: Any = QUESTION, *, presented: str = secret, **more: Any) -> HttpResponse:
        content = body if isinstance(body, bytes) else json.dumps(body)
        more = {"headers": {"Authorization": header(presented)}, **more}
        return client.post(f"/extender/{live.pk}/{verb}", content, content_type="application/json", **more)  # type: ignore[return-value]

    return post


def test_a_scraper_reads_how_many_questions_were_answered_and_how_fast(ask: Ask, live: LiveScheduler) -> None:
    def value(series: str, verb: str) -> float:
        labels = {"cluster": live.cluster.name, "profile": live.scheduler_name, "verb": verb}
        return REGISTRY.get_sample_value(series, labels) or 0.0

    names = ("requests_total", "errors_total", "request_duration_seconds_count")
    before = [value(f"kschedweb_extender_{name}", "filter") for name in names]
    ask("filter")
    ask("filter", b"{")
    after = [value(f"kschedweb_extender_{name}", "filter") for name in names]
    assert [now - then for now, then in zip(after, before, strict=True)] == [2, 1, 2]
    assert value("kschedweb_extender_request_duration_seconds_sum", "filter") > 0


def test_filter_prioritize_and_preempt_are_answered(ask: Ask) -> None:
    response = ask("filter")
    assert response.json()["NodeNames"] == ["empty"]
    assert response.json()["FailedNodes"] == {"full": "Insufficient cpu"}
    assert TROUBLE not in response.headers
    scores = {host_score["Host"]: host_score["Score"] for host_score in ask("prioritize").json()}
    assert scores["empty"] > scores["full"]
    victims = {name: {"Pods": [], "NumPDBViolations": 0} for name in ("full", "empty")}
    answer = ask("preempt", {"Pod": QUESTION["Pod"], "NodeNameToMetaVictims": victims})
    assert list(answer.json()["NodeNameToMetaVictims"]) == ["empty"]


def test_before_the_cluster_is_read_filter_says_so_and_prioritize_prefers_nothing(
    ask: Ask, opened: Callable[..., Responders]
) -> None:
    opened(unheard)
    assert ask("filter").json()["Error"] == "kschedweb: the cluster is still being read"
    scores = ask("prioritize")
    assert [host_score["Score"] for host_score in scores.json()] == [0, 0]
    assert scores[TROUBLE] == "the cluster is still being read"


def test_what_is_switched_off_decides_nothing(ask: Ask, live: LiveScheduler) -> None:
    assert ask("bind", {"PodName": "p", "PodNamespace": "n", "PodUID": "u", "Node": "a"}).json() == {
        "Error": "kschedweb: the extender is switched off"
    }
    live.mode = Mode.OFF
    live.save()
    wait_until(lambda: "switched off" in ask("filter").json()["Error"], "the mode is taken over")
    assert [host_score["Score"] for host_score in ask("prioritize").json()] == [0, 0]


def test_only_known_pods_of_the_scheduler_are_bound(ask: Ask, live: LiveScheduler) -> None:
    services.endpoint_change(user=None, live=live, binds=True)
    binding = {"PodName": "x", "PodNamespace": "default", "PodUID": "unheard", "Node": "empty"}
    assert ask("bind", binding).json() == {"Error": "kschedweb: the pod is not known"}
    binding |= {"PodName": "a", "PodUID": "default/a"}
    assert ask("bind", binding).json() == {"Error": "kschedweb: the pod is another scheduler's: default-scheduler"}


def test_the_secret_opens_and_nothing_else(ask: Ask, client: Client, live: LiveScheduler, settings: Settings) -> None:
    wrong = ask("filter", presented="kse_wrong")
    assert wrong.status_code == 401
    assert ask("filter", headers={}).status_code == 401
    unknown = client.post(
        f"/extender/00000000-0000-0000-0000-{'0' * 12}/filter", headers={"Authorization": header("x")}
    )
    assert (unknown.status_code, unknown.json()) == (401, wrong.json())
    assert client.get(f"/extender/{live.pk}/filter").status_code == 405
    assert client.post(f"/extender/{live.pk}/other").status_code == 404
    settings.HTTPS = True
    assert ask("filter").status_code == 403
    assert ask("filter", secure=True).status_code == 200


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "EOF"),
        (b"{", "unexpected EOF"),
        (b"\xff\x00", "invalid character"),
        (b'{"Pod": ' + b"[" * 50_000, "exceeded max depth"),
        (b"{}", "pod is missing"),
        (b'{"Pod": 3}', "cannot unmarshal number"),
        (b'{"Pod": {"metadata": {"name": "p"}, "spec": {"containers": 3}}, "NodeNames": []}', "containers"),
    ],
)
def test_what_cannot_be_understood_is_an_error_inside_of_status_200(ask: Ask, body: bytes, words: str) -> None:
    """Of other statuses kube-scheduler tells the whole address, secret included."""
    response = ask("filter", body)
    assert response.status_code == 200
    assert words in response.json()["Error"]
    assert ask("prioritize", body).json() == []
    assert ask("preempt", body).json() == {"NodeNameToMetaVictims": {}}


def test_a_body_beyond_the_limit_is_refused(ask: Ask, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    assert "larger than 100 bytes" in ask("filter").json()["Error"]


def test_questions_are_answered_while_the_database_is_gone(
    ask: Ask, opened: Callable[..., Responders], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_away, looks = False, 0

    def read(live_id: Any) -> Any:
        nonlocal looks
        if is_away:
            looks += 1
            raise OperationalError("the server closed the connection")
        return read_settings(live_id)

    monkeypatch.setattr(module, "REREAD", 0.0)
    opened(read=read)
    assert ask("filter").json()["Error"] == ""
    is_away = True
    wait_until(lambda: looks > 0, "the responder looked at its rows in vain")
    assert ask("filter").json()["NodeNames"] == ["empty"]
    assert ask("filter", presented="kse_wrong").status_code == 503


def test_a_new_secret_ends_the_old_one_within_seconds(ask: Ask, live: LiveScheduler) -> None:
    assert ask("filter").status_code == 200
    fresh = services.endpoint_secret_make(user=None, live=live)
    assert ask("filter", presented=fresh).status_code == 200
    assert ask("filter").status_code == 401
