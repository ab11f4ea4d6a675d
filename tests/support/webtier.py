"""Web processes on databases of their own, and people who use them over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import requests

from tests.support.backstage import Backstage
from tests.support.databases import PostgreSQL, Redis, databases
from tests.support.livesite import Deployment
from tests.support.processes import Server, free_port, wait_until
from tests.support.site import Site

POOL = 8  # connections of the web process


@dataclass
class WebTier:
    """One web process with its servers; ``backstage`` does what others do meanwhile."""

    postgres: PostgreSQL
    redis: Redis
    deployment: Deployment
    backstage: Backstage
    web: Server
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def person(self, name: str, role: str = "viewer") -> Site:
        """Somebody with a session; nobody waits for a password to be hashed."""
        site = Site(self.url)
        site.session.cookies.set("sessionid", self.backstage("log_in", person=name, role=role), domain="127.0.0.1")
        return site

    def connections(self) -> int:
        """Count the web process's connections to the database."""
        with psycopg.connect(self.postgres.url) as connection:
            row = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'web'").fetchone()
        assert row is not None
        return int(row[0])

    def transactions(self) -> int:
        """Count the database's committed transactions."""
        with psycopg.connect(self.postgres.url) as connection:
            row = connection.execute(
                "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
            ).fetchone()
        assert row is not None
        return int(row[0])

    def status(self, path: str) -> tuple[int, float]:
        """The status of an answer, and the seconds it took."""
        begun = time.monotonic()
        return requests.get(self.url + path, timeout=60).status_code, time.monotonic() - begun

    def wait_ready(self) -> None:
        wait_until(lambda: self.status("/readyz")[0] == 200, "the site is ready", step=0.2)


@contextlib.contextmanager
def web_tier(folder: Path, **settings: str) -> Iterator[WebTier]:
    """PostgreSQL, Redis, and a migrated site with one web process that is ready."""
    with databases() as (postgres, redis), contextlib.ExitStack() as stack:
        deployment = Deployment(folder, postgres.url, redis.url)
        port = free_port()
        more = {"DATABASE_URL": f"{postgres.url}?application_name=web", "KSCHEDWEB_DATABASE_POOL": str(POOL)}
        web = deployment.web(port, **{**more, **settings})
        backstage = deployment.backstage()
        stack.callback(backstage.close)
        web.start()
        stack.callback(web.stop)
        tier = WebTier(postgres, redis, deployment, backstage, web, port)
        wait_until(lambda: Site(tier.url).answers("/livez"), "the web process answers", step=0.2)
        tier.wait_ready()
        yield tier


@dataclass
class Stream:
    """One open stream, and what has come of it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    text: str = ""
    ended: bool = False
    reading: asyncio.Task[None] | None = field(default=None, repr=False)

    async def read(self) -> None:
        while part := await self.reader.read(65536):
            self.text += part.decode()
        self.ended = True

    async def comes(self, text: str, times: int = 1, seconds: float = 60) -> None:
        """Until ``text`` has come so often."""
        async with asyncio.timeout(seconds):
            while self.text.count(text) < times:
                assert not self.ended, self.text
                await asyncio.sleep(0.02)

    async def close(self) -> None:
        if self.reading is not None:
            self.reading.cancel()
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


async def open_stream(port: int, live: str, session: str, last: str = "") -> Stream:
    """Ask for a stream as a browser does; nothing is read yet."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = [f"GET /api/v1/live/{live}/stream/ HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Cookie: sessionid={session}"]
    head += [f"Last-Event-ID: {last}"] if last else []
    writer.write("\r\n".join([*head, "", ""]).encode())
    await writer.drain()
    return Stream(reader, writer)


@contextlib.asynccontextmanager
async def streams(port: int, live: str, sessions: list[str]) -> AsyncIterator[list[Stream]]:
    """A stream a session, each of which has told the status."""
    opened = [await open_stream(port, live, session) for session in sessions]
    try:
        for stream in opened:
            stream.reading = asyncio.ensure_future(stream.read())
        for stream in opened:
            await stream.comes("event: status")
        yield opened
    finally:
        for stream in opened:
            await stream.close()
