"""The sandbox as a thread of this process: its API server listens on the loopback interface, and its time passes."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
import time
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any

import structlog
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kschedweb.engine.sandbox.api_objects import ApiObjects
from kschedweb.engine.sandbox.apiserver import ApiServer
from kschedweb.engine.sandbox.requests import ApiResponse
from kschedweb.engine.sandbox.status_errors import internal_error
from kschedweb.engine.sandbox.world import SandboxWorld, admission, load_catalogue
from kschedweb.sandbox.running.persistence import Keeper
from kschedweb.sandbox.running.schedulers import StockSchedulers
from kschedweb.sandbox.running.transport import Transport

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from kschedweb.engine.sandbox.requests import Request, Watch
    from kschedweb.engine.sandbox.store import StoreChange
    from kschedweb.engine.simulation.recording import UseRecording

# Seconds without anything due after which it looks again.
LONGEST_REST = 60.0
# Seconds until a failed write is tried again.
TROUBLE_REST = 1.0
# Seconds for watches to end once it is told to stop.
PATIENCE = 1
logger = structlog.get_logger(__name__)


class _Protocol(HttpToolsProtocol):
    """HTTP/1.1 without a line in the log for each request, however logging is set up later."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.access_log = False


class Sandbox:
    """Serves clients with ``token`` at ``listener``, from the objects that ``path`` keeps. ``start``, then ``stop``.

    ``site`` is the address of this site, the only extender that its kube-schedulers may call. ``recording`` is the use
    that its pods follow.
    """

    def __init__(
        self, path: Path, listener: socket.socket, token: str, site: str = "", recording: UseRecording | None = None
    ) -> None:
        self._listener = listener
        self._woken: asyncio.Event | None = None
        # Why changes cannot be kept; "" if they can.
        self.trouble = ""
        self._keeper = Keeper(path)
        try:
            self._prepare(token, site, recording)
        except BaseException:
            self._keeper.close()
            raise

    def _prepare(self, token: str, site: str, recording: UseRecording | None) -> None:
        store = self._keeper.load_store()
        self._store = store
        random = Random(SystemRandom().getrandbits(64))  # noqa: S311
        objects = ApiObjects(store, time.time, random, admission(store))
        self.world = SandboxWorld(objects, recording=recording)
        store.add_listener(self._on_change)
        if not store.version:
            load_catalogue(objects)
        self._server = ApiServer(objects, self.world.list_metrics)
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
        """Start the thread, and return once it answers. Raises RuntimeError if the thread ends before."""
        self._thread.start()
        while not self._ready.wait(0.05):
            if not self._thread.is_alive():
                raise RuntimeError("the sandbox ended while it started")

    def stop(self) -> None:
        """End it in an orderly way. Answered changes are kept in any case."""
        self._http.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._transport.end_watches)
        self._thread.join(PATIENCE + 4)

    def carry_out(self, request: Request) -> ApiResponse | Watch:
        """Answer ``request``. When this returns, its changes are on disk, or have not happened.

        Only the sandbox's own thread may call it.
        """
        begun = len(self._keeper.changes)
        try:
            answer = self._server.handle(request)
            if len(self._keeper.changes) > begun:
                self._commit_changes()
        except sqlite3.Error as error:
            refusal = internal_error(f"the sandbox cannot keep the change: {error}")
        except Exception:
            logger.exception("sandbox_request_failed", method=request.method)
            refusal = internal_error("the sandbox failed at this request; its log says why")
        else:
            return answer
        self._take_back(begun)
        return ApiResponse(refusal.code, refusal.body)

    def _take_back(self, begun: int) -> None:
        """Undo the changes after the first ``begun`` that are not on disk."""
        changes = self._keeper.changes
        try:
            self._store.undo_changes(changes[begun:])
        except Exception:
            logger.exception("sandbox_undo_failed")
        else:
            del changes[begun:]

    def call(self, request: Request) -> ApiResponse | Watch:
        """Answer ``request`` from another thread."""

        async def run_request() -> ApiResponse | Watch:
            return self.carry_out(request)

        if self._loop is None:
            raise RuntimeError("the sandbox has not begun")
        return asyncio.run_coroutine_threadsafe(run_request(), self._loop).result()

    def _on_change(self, change: StoreChange) -> None:
        if self._woken is not None:
            self._woken.set()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
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
            with contextlib.suppress(sqlite3.Error):
                self._keeper.commit()
            self._keeper.close()

    def _advance_world(self) -> None:
        """Do what is due. Time stands still while nothing can be kept."""
        with contextlib.suppress(sqlite3.Error):
            self._commit_changes()
            try:
                self.world.advance(time.time())
            except Exception:
                logger.exception("sandbox_stumbled")
            self._commit_changes()

    def _commit_changes(self) -> None:
        """Write the changes. Raises sqlite3.Error, and ``trouble`` has it until writing succeeds."""
        try:
            self._keeper.commit()
        except sqlite3.Error as error:
            if not self.trouble:
                logger.warning("sandbox_not_kept", reason=str(error))
            self.trouble = f"It cannot keep what happens, and its time stands still: {error}."
            raise
        self.trouble = ""

    async def _pass_time(self, woken: asyncio.Event) -> None:
        while True:
            woken.clear()
            self._advance_world()
            if self.trouble:
                await asyncio.sleep(TROUBLE_REST)
                continue
            due = self.world.next_time(time.time())
            pause = LONGEST_REST if due is None else max(0.01, min(LONGEST_REST, due - time.time()))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), pause)
