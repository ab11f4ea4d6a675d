"""The sandbox as a thread of this process: its API server listens on the loopback interface, and its time passes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any

import structlog
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kschedweb.engine.sandbox.apiserver import ApiServer
from kschedweb.engine.sandbox.objects import Objects
from kschedweb.engine.sandbox.world import World, admission, load_catalogue
from kschedweb.sandbox.running.keeping import Keeper
from kschedweb.sandbox.running.schedulers import StockSchedulers
from kschedweb.sandbox.running.transport import Transport

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from kschedweb.engine.sandbox.requests import Answer, Request, Watch
    from kschedweb.engine.sandbox.store import Change
    from kschedweb.engine.simulation.recording import Recording

LONGEST_REST = 60.0  # seconds
PATIENCE = 1  # seconds that watches get to end once it is told to stop
logger = structlog.get_logger(__name__)


class _Protocol(HttpToolsProtocol):
    """HTTP/1.1 without a line in the log for each request, however logging is set up later."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.access_log = False


class Sandbox:
    """Serves at ``listener`` to whoever has ``token``, from the objects that ``path`` keeps. ``start``, then ``stop``.

    ``site`` is the address of this site, the only one that its kube-schedulers may ask as an extender. ``recording`` is
    what its pods use.
    """

    def __init__(
        self, path: Path, listener: socket.socket, token: str, site: str = "", recording: Recording | None = None
    ) -> None:
        self._listener = listener
        self._woken: asyncio.Event | None = None
        self._keeper = Keeper(path)
        store = self._keeper.store()
        random = Random(SystemRandom().getrandbits(64))  # noqa: S311
        objects = Objects(store, time.time, random, admission(store))
        self.world = World(objects, recording=recording)
        store.listen(self._changed)
        if not store.version:
            load_catalogue(objects)
        self._server = ApiServer(objects, self.world.metrics)
        self._keeper.commit()
        self._transport = Transport(self.carry_out, store, token)
        config = uvicorn.Config(
            self._transport, http=_Protocol, ws="none", lifespan="off", log_config=None, access_log=False,
            server_header=False, timeout_graceful_shutdown=PATIENCE,
        )  # fmt: skip
        self._http = uvicorn.Server(config)
        self._schedulers = StockSchedulers(store, self.call, site)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sandbox", daemon=True)

    def start(self) -> None:
        """Returns once it answers."""
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """End it in an orderly way; what was answered is kept in any case."""
        self._http.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._transport.end_watches)
        self._thread.join(PATIENCE + 4)

    def carry_out(self, request: Request) -> Answer | Watch:
        """Answer ``request``; what it changed is kept when this returns. For the sandbox's own thread."""
        answer = self._server.handle(request)
        self._keeper.commit()
        return answer

    def call(self, request: Request) -> Answer | Watch:
        """Answer ``request`` from another thread."""

        async def carried() -> Answer | Watch:
            return self.carry_out(request)

        if self._loop is None:
            raise RuntimeError("the sandbox has not begun")
        return asyncio.run_coroutine_threadsafe(carried(), self._loop).result()

    def _changed(self, change: Change) -> None:
        if self._woken is not None:
            self._woken.set()

    def _run(self) -> None:
        asyncio.run(self._live())

    async def _live(self) -> None:
        self._loop, self._woken = asyncio.get_running_loop(), asyncio.Event()
        passing = asyncio.create_task(self._pass_time(self._woken))
        serving = asyncio.create_task(self._http.serve(sockets=[self._listener]))
        self._schedulers.start()
        self._ready.set()
        try:
            await serving
        finally:
            passing.cancel()
            self._schedulers.stop()
            with contextlib.suppress(asyncio.CancelledError):
                await passing
            self._keeper.commit()
            self._keeper.close()

    async def _pass_time(self, woken: asyncio.Event) -> None:
        while True:
            woken.clear()
            now = time.time()
            try:
                self.world.advance(now)
            except Exception:
                logger.exception("sandbox_stumbled")
            self._keeper.commit()
            due = self.world.next_time(time.time())
            rest = LONGEST_REST if due is None else max(0.01, min(LONGEST_REST, due - time.time()))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), rest)
