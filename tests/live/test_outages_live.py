"""Web tier while the database, Redis or both are away, and once they are back: its words and acts."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from tests.support import loops
from tests.support.processes import wait_until
from tests.support.site import ROOT
from tests.support.webtier import POOL, WebTier, streams, web_tier

SOON = 30.0  # seconds: the answer is there within 2 where the machine has time for it
PATHS = ("/", "/live/", "/approvals/badge/", "/api/v1/live/", "/api/v1/approvals/", "/login/")


@pytest.fixture(scope="module")
def tier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebTier]:
    with web_tier(tmp_path_factory.mktemp("outages")) as tier:
        yield tier


@pytest.fixture(scope="module")
def live(tier: WebTier) -> str:
    return str(tier.backstage("watched", scheduler="streamed"))


@pytest.fixture
def everything_back(tier: WebTier) -> Iterator[None]:
    yield
    for server in (tier.postgres, tier.redis):
        if not server.alive:
            server.start()
    tier.postgres.thaw()
    tier.wait_ready()


def unavailable(answer: requests.Response) -> None:
    """``answer`` says that the database is away, as a program or a person reads it."""
    assert answer.status_code == 503, answer.text[:500]
    assert int(answer.headers["Retry-After"]) > 0
    if "/api/" in answer.url:
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["detail"] == "The database cannot be reached now. Try again in a moment."
    else:
        assert "The database cannot be reached now." in answer.text


def crowd(tier: WebTier, cookies: requests.cookies.RequestsCookieJar) -> list[requests.Response]:
    """Return the answers to forty people at once."""

    def ask(number: int) -> requests.Response:
        return requests.get(tier.url + PATHS[number % len(PATHS)], cookies=cookies, timeout=60)

    with ThreadPoolExecutor(40) as people:
        return list(people.map(ask, range(40)))


def probes(tier: WebTier, ready: dict[str, str]) -> None:
    status, seconds = tier.status("/livez")
    assert (status, seconds < SOON) == (200, True)
    begun = time.monotonic()
    answer = requests.get(f"{tier.url}/readyz", timeout=60)
    assert time.monotonic() - begun < SOON
    assert answer.status_code == 503
    assert {name: answer.json()["checks"][name] for name in ready} == ready


def test_without_the_database_all_is_said_soon_and_streams_go_on(
    tier: WebTier, live: str, everything_back: None
) -> None:
    site = tier.person("reader")
    session = str(site.session.cookies["sessionid"])

    async def listen() -> None:
        async with streams(tier.port, live, [session] * 15) as opened:
            event_count = opened[0].text.count("event: status")
            await asyncio.to_thread(crowd, tier, site.session.cookies)
            before = tier.connections()
            tier.postgres.kill()
            for stream in opened:
                await stream.comes("event: unavailable")
            for _ in range(2):
                for answer in await asyncio.to_thread(crowd, tier, site.session.cookies):
                    unavailable(answer)
                    assert answer.elapsed.total_seconds() < SOON
            await asyncio.to_thread(probes, tier, {"database": "failed", "broker": "ok"})
            await asyncio.to_thread(tier.postgres.start)
            for stream in opened:
                await stream.comes("event: status", event_count + 1)
            await asyncio.to_thread(tier.wait_ready)
            answers = await asyncio.to_thread(crowd, tier, site.session.cookies)
            assert {answer.status_code for answer in answers} == {200}
            assert tier.connections() <= max(before, POOL + 1)

    loops.run(listen())


@pytest.mark.nightly
def test_a_database_that_says_nothing_any_more_holds_nobody(tier: WebTier, live: str, everything_back: None) -> None:
    site = tier.person("reader")
    assert site.call_rest("GET", "live/").status_code == 200
    tier.postgres.freeze()
    for answer in crowd(tier, site.session.cookies):
        unavailable(answer)
        assert answer.elapsed.total_seconds() < SOON
    probes(tier, {"database": "failed", "broker": "ok"})
    tier.postgres.thaw()
    tier.wait_ready()
    wait_until(lambda: site.call_rest("GET", "live/").status_code == 200, "the site answers again")
    assert {answer.status_code for answer in crowd(tier, site.session.cookies)} == {200}


@pytest.mark.parametrize("how", ["gone", pytest.param("silent", marks=pytest.mark.nightly)])
def test_without_redis_pages_rest_and_votes_go_on(tier: WebTier, live: str, everything_back: None, how: str) -> None:
    approver = tier.person("approver", "approver")
    request = tier.backstage("hold", live=live, pod=f"held-while-{how}")
    assert approver.call_rest("GET", "approvals/").status_code == 200
    if how == "gone":
        tier.redis.kill()
    else:
        tier.redis.signal(signal.SIGSTOP)
    try:
        for path in PATHS:
            answer = approver.session.get(tier.url + path, timeout=60)
            assert answer.status_code == 200, f"{path}: {answer.status_code}"
            assert answer.elapsed.total_seconds() < SOON
        # The page gives the token that votes are asked for with.
        approver.session.get(f"{tier.url}/approvals/{request}/", timeout=60)
        voted = approver.call_rest("POST", f"approvals/{request}/approve/", {"reason": "looked at"})
        assert voted.status_code == 200, voted.text
        assert voted.json()["state"] == "approved"
        probes(tier, {"database": "ok", "broker": "failed"})
    finally:
        tier.redis.signal(signal.SIGCONT)


def test_readiness_is_said_soon_without_both(tier: WebTier, everything_back: None) -> None:
    tier.redis.kill()
    tier.postgres.freeze()
    probes(tier, {"database": "failed", "broker": "failed", "credentials": "failed"})


STUCK = """
import os, time, django
django.setup()
from django.db import connection
from kschedweb.web import health

health.STUCK, health.POOL.fresh = 1.0, 0.0
connection.pool.timeout = 0.2
connection.pool.open(wait=True)
lost = [connection.pool.getconn(10) for _ in range(connection.pool.max_size)]

def alive():
    health.POOL.begin_check().result(30)
    return health.answer_liveness().status_code

def becomes(status):
    deadline = time.monotonic() + 30
    while alive() != status:
        assert time.monotonic() < deadline, status
        time.sleep(0.2)

assert alive() == 200  # for a moment all connections may be in use
becomes(503)
print("stuck", flush=True)
input()  # the database is away now, which a new start would not mend
becomes(200)
os._exit(0)
"""


@pytest.mark.nightly
def test_a_process_whose_pool_never_recovers_is_not_alive(tier: WebTier, everything_back: None) -> None:
    environment = tier.deployment.environment(DJANGO_SETTINGS_MODULE="kschedweb.settings")
    command = [sys.executable, "-c", STUCK]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if line:
            tier.postgres.kill()
        _, errors = process.communicate(b"\n", timeout=120)
    assert (line, process.returncode) == (b"stuck\n", 0), errors.decode()[-2000:]
