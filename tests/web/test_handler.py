"""The threads of the web process: who waits for what, and who does not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import requests
from django.conf import settings
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path, resolve

from kschedweb import server
from kschedweb.accounts.models import User
from kschedweb.engine.patience import checkpoint
from kschedweb.server import Server
from kschedweb.web import heavy as module
from kschedweb.web.exports import LINES, csv_response
from kschedweb.web.heavy import heavy, is_heavy
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from pytest_django import Settings as DjangoSettings

ROWS = 3 * LINES
PATIENCE = 60.0  # seconds until a test gives up


class BlockingApplication:
    """Application that blocks its pages, and records the order in which they came to it."""

    def __init__(self) -> None:
        self.came = list[int]()
        self._open = threading.Event()

    def open(self) -> None:
        self._open.set()

    def wait(self, number: int) -> None:
        self.came.append(number)
        assert self._open.wait(PATIENCE)


door = BlockingApplication()


@heavy
def computed(request: HttpRequest, number: int) -> HttpResponse:
    door.wait(number)
    return HttpResponse("computed")


@heavy
def endless(request: HttpRequest) -> HttpResponse:
    door.came.append(0)
    try:
        while True:
            checkpoint()
    finally:
        door.came.append(1)


def plain(request: HttpRequest) -> HttpResponse:
    return HttpResponse("plain")


def slow(request: HttpRequest, number: int) -> HttpResponse:
    door.wait(number)
    return HttpResponse("slow")


def logged_in(request: HttpRequest) -> HttpResponse:
    request.user = User(pk=7)
    return HttpResponse("logged in")


def table(request: HttpRequest) -> StreamingHttpResponse:
    rows = ([number, threading.current_thread().name] for number in range(ROWS))
    return csv_response("table.csv", ["number", "thread"], rows)


def broken(request: HttpRequest) -> StreamingHttpResponse:
    return csv_response("table.csv", ["number"], ([1 / (LINES - number)] for number in range(ROWS)))


urlpatterns = [
    path("computed/<int:number>/", computed),
    path("endless/", endless),
    path("plain/", plain),
    path("slow/<int:number>/", slow),
    path("logged-in/", logged_in),
    path("table/", table),
    path("broken/", broken),
]


@dataclass(frozen=True)
class Site:
    server: Server
    url: str

    @property
    def connections(self) -> int:
        return len(self.server.server_state.connections)

    def get(self, page: str, patience: float = PATIENCE, person: str = "") -> str:
        """The answer to ``person``, of whom each page has one of its own."""
        cookies = {settings.SESSION_COOKIE_NAME: person or page}
        return requests.get(f"{self.url}/{page}", timeout=(PATIENCE, patience), cookies=cookies).text


@pytest.fixture
def site(settings: DjangoSettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Ask a web process in a thread of this one, whose pages are those above."""
    global door
    door = BlockingApplication()
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = ["kschedweb.web.problems.ProblemMiddleware"]
    monkeypatch.setattr(module, "PEOPLE", [lambda request: request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")])
    listener = server.open_listener("127.0.0.1", 0)
    running = server.make_server(patience=1)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    wait_until(lambda: running.started, "the server listens", seconds=PATIENCE)
    yield Site(running, "http://{}:{}".format(*listener.getsockname()))
    door.open()
    running.should_exit = True
    thread.join(10)


def occupy_heavy_threads(site: Site, crowd: ThreadPoolExecutor, people: int) -> list[Future[str]]:
    """So many people wait for heavy pages; as many pages as have threads are being computed."""
    coming = [crowd.submit(site.get, f"computed/{number}/") for number in range(people)]
    wait_until(lambda: site.connections == people, "all have asked", seconds=PATIENCE)
    wait_until(lambda: len(door.came) == settings.HEAVY_THREADS, "some are computed", seconds=PATIENCE)
    return coming


def test_twenty_heavy_pages_leave_the_others_as_they_are(site: Site) -> None:
    with ThreadPoolExecutor(20) as crowd:
        coming = occupy_heavy_threads(site, crowd, 20)
        for _ in range(settings.REQUEST_THREADS + 1):
            assert site.get("plain/") == "plain"
        assert len(door.came) == settings.HEAVY_THREADS
        door.open()
        assert {page.result() for page in coming} == {"computed"}
    assert sorted(door.came) == list(range(20))


def test_a_heavy_page_that_nobody_waits_for_any_more_is_not_computed(site: Site) -> None:
    with ThreadPoolExecutor(settings.HEAVY_THREADS) as crowd:
        coming = occupy_heavy_threads(site, crowd, settings.HEAVY_THREADS)
        with socket.create_connection((urlsplit(site.url).hostname, urlsplit(site.url).port)) as leaving:
            leaving.sendall(b"GET /computed/77/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            wait_until(
                lambda: site.connections > settings.HEAVY_THREADS, "the server knows that it came", seconds=PATIENCE
            )
        wait_until(
            lambda: site.connections == settings.HEAVY_THREADS, "the server knows that it left", seconds=PATIENCE
        )
        door.open()
        assert [page.result() for page in coming] == ["computed"] * settings.HEAVY_THREADS
        assert site.get("computed/78/") == "computed"
    assert 77 not in door.came


def test_one_person_s_heavy_pages_leave_a_thread_to_the_others(site: Site) -> None:
    with ThreadPoolExecutor(20) as crowd:
        mine = [crowd.submit(site.get, f"computed/{number}/", person="me") for number in range(10)]
        wait_until(lambda: site.connections == 10, "all have asked", seconds=PATIENCE)
        of_other = crowd.submit(site.get, "computed/77/", person="other")
        wait_until(lambda: len(door.came) == 2, "both are computed", seconds=PATIENCE)
        assert 77 in door.came
        door.open()
        assert {page.result() for page in [*mine, of_other]} == {"computed"}
    assert len(door.came) == 11


@pytest.mark.parametrize("sessions", [1, 3])
def test_one_person_s_pages_leave_threads_to_the_others(site: Site, sessions: int) -> None:
    """Twenty pages of a policy of 340 kB, 7 s of a processor each, were two minutes without any page for all others."""
    mine = [f"session-{number}" for number in range(sessions)]
    for session in mine:
        assert site.get("logged-in/", person=session) == "logged in"
    with ThreadPoolExecutor(20) as crowd:
        coming = [crowd.submit(site.get, f"slow/{number}/", person=mine[number % sessions]) for number in range(12)]
        wait_until(lambda: site.connections == 12, "all have asked", seconds=PATIENCE)
        assert site.get("plain/", person="other") == "plain"
        assert len(door.came) == settings.REQUEST_THREADS // 2
        door.open()
        assert {page.result() for page in coming} == {"slow"}
    assert sorted(door.came) == list(range(12))


def test_a_heavy_page_has_a_deadline(site: Site, settings: DjangoSettings) -> None:
    settings.HEAVY_SECONDS = 0.2
    assert "This takes longer than a page may compute." in site.get("endless/")


def test_a_heavy_page_stops_once_nobody_waits_for_it(site: Site) -> None:
    with socket.create_connection((urlsplit(site.url).hostname, urlsplit(site.url).port)) as leaving:
        leaving.sendall(b"GET /endless/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        wait_until(lambda: door.came == [0], "it is computed", seconds=PATIENCE)
    wait_until(lambda: door.came == [0, 1], "it stopped", seconds=5)


def test_a_table_is_sent_in_parts_that_request_threads_read(site: Site) -> None:
    lines = site.get("table/").split()
    assert len(lines) == ROWS + 1
    assert lines[-1].startswith(f"{ROWS - 1},request")


def test_a_table_that_breaks_off_is_told_from_a_whole_one(site: Site) -> None:
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        site.get("broken/")


@pytest.mark.parametrize(
    "address",
    [
        "/decision/one/default/pod/",
        "/api/v1/clusters/one/pods/a/b/decision/",
        "/load-aware/",
        "/policies/one/edit/effect/",
        "/sweeps/new/",
        "/api/v1/sweeps/start/",
    ],
)
def test_pages_that_compute_much_are_marked(address: str) -> None:
    assert resolve(address)
    assert is_heavy(address)


@pytest.mark.parametrize("address", ["/", "/jobs/", "/api/v1/jobs/", "/no-such-page"])
def test_other_pages_are_not(address: str) -> None:
    assert not is_heavy(address)
