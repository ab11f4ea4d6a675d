"""Streams, and what they leave to everybody else: connections, threads and queries."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
from collections.abc import Iterator

import pytest

from tests.support import loops
from tests.support.processes import wait_until
from tests.support.site import Site
from tests.support.webtier import POOL, WebTier, open_stream, streams, web_tier

A_PERSON = 10  # streams that one person may have
PAGES = ("/", "/live/", "/approvals/", "/api/v1/live/", "/api/v1/policies/")


@pytest.fixture(scope="module")
def tier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebTier]:
    folder = tmp_path_factory.mktemp("connections")
    with web_tier(folder, KSCHEDWEB_STREAMS_PER_PERSON=str(A_PERSON)) as tier:
        yield tier


@pytest.fixture(scope="module")
def live(tier: WebTier) -> str:
    return str(tier.backstage("watched", scheduler="streamed"))


def sessions(tier: WebTier, people: int) -> list[str]:
    return [tier.backstage("log_in", person=f"listener-{number}") for number in range(people)]


def seconds_of(site: Site) -> list[float]:
    """Measure the seconds of each page, all answered."""
    seconds = []
    for path in PAGES * 3:
        answer = site.session.get(site.url + path, timeout=60)
        assert answer.status_code == 200, f"{path}: {answer.status_code}"
        seconds.append(answer.elapsed.total_seconds())
    return seconds


@pytest.mark.nightly
def test_two_hundred_streams_cost_as_many_queries_as_one(tier: WebTier, live: str) -> None:
    site = tier.person("reader")
    seconds_of(site)
    alone = statistics.median(seconds_of(site))

    async def listen() -> None:
        async with streams(tier.port, live, sessions(tier, 20) * A_PERSON) as opened:
            assert len(opened) == 200
            before = tier.transactions()
            await asyncio.sleep(5)
            # A look is 4 statements and happens twice a second: 40 of them; each stream on its own made 8,000.
            assert tier.transactions() - before < 400
            with_streams = statistics.median(await asyncio.to_thread(seconds_of, site))
            assert with_streams < 10 * alone + 2, f"{with_streams:.3f} s instead of {alone:.3f} s"
            await asyncio.to_thread(tier.backstage, "record", live=live, pod="told-to-all")
            for stream in opened:
                await stream.comes('"told-to-all"')
            assert tier.connections() <= POOL + 1

    loops.run(listen())


@pytest.mark.nightly
def test_streams_that_are_left_give_back_all_they_took(tier: WebTier, live: str) -> None:
    site, session_ids = tier.person("reader"), sessions(tier, 20)

    async def come_and_go(number: int) -> None:
        stream = await open_stream(tier.port, live, session_ids[number % len(session_ids)])
        if number % 3:  # the others leave before the first byte
            await stream.reader.read(1)
        if number % 3 == 2:
            await stream.reader.readuntil(b"event: status")
        stream.writer.transport.abort()

    async def fifty(number: int) -> None:
        await asyncio.gather(*(come_and_go(50 * number + offset) for offset in range(50)))

    loops.run(fifty(0))
    seconds_of(site)
    before = tier.connections()  # the pool has grown to what so many at once need
    for number in range(10):
        loops.run(fifty(number))
    seconds_of(site)
    wait_until(lambda: tier.connections() == before, f"{before} connections, as before")

    async def listen() -> None:
        async with streams(tier.port, live, session_ids[:3] * A_PERSON):
            pass

    def all_may_listen() -> bool:
        """As many as each may have: no stream that ended is counted any more, once its end was noticed."""
        with contextlib.suppress(AssertionError):
            loops.run(listen())
            return True
        return False

    wait_until(all_may_listen, "everybody may listen again")


def test_one_person_has_a_bounded_number_of_streams(tier: WebTier, live: str) -> None:
    site = tier.person("collector")
    session = str(site.session.cookies["sessionid"])

    async def listen() -> None:
        async with streams(tier.port, live, [session] * A_PERSON) as opened:
            # Longer than anybody waits for a connection: each would have kept one.
            await asyncio.sleep(4)
            await asyncio.to_thread(seconds_of, site)
            answer = await asyncio.to_thread(site.call_rest, "GET", f"live/{live}/stream/")
            assert answer.status_code == 429
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert int(answer.headers["Retry-After"]) > 0
            assert f"You have {A_PERSON} streams" in answer.json()["detail"]
            await opened.pop().close()

            def is_taken() -> bool:
                with site.call_rest("GET", f"live/{live}/stream/", stream=True) as response:
                    return response.status_code == 200

            await asyncio.to_thread(wait_until, is_taken, "another stream in the place of the one that ended")

    loops.run(listen())


def test_who_comes_again_is_told_what_they_missed(tier: WebTier, live: str) -> None:
    (session,) = sessions(tier, 1)

    async def listen() -> None:
        async with streams(tier.port, live, [session]) as (first,):
            last = first.text.split("id: ")[1].splitlines()[0]
            for pod in ("missed-1", "missed-2"):
                await asyncio.to_thread(tier.backstage, "record", live=live, pod=pod)
            await first.comes('"missed-2"')
            resumed = await open_stream(tier.port, live, session, last)
            resumed.reading = asyncio.ensure_future(resumed.read())
            await resumed.comes("event: status")
            await asyncio.to_thread(tier.backstage, "record", live=live, pod="afterwards")
            for stream in (first, resumed):
                await stream.comes('"afterwards"')
                counts = [stream.text.count(f'"{pod}"') for pod in ("missed-1", "missed-2", "afterwards")]
                assert counts == [1, 1, 1], stream.text
            await resumed.close()

    loops.run(listen())
