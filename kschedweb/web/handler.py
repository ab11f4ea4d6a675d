"""The ASGI handler: a fixed number of threads answers requests, each from its first to its last query.

The thread returns its database connection before the first byte of the answer is sent. So a stream, a slow reader or a
client that left holds neither a thread nor a connection. There are at most as many requests in progress as threads; the
others wait in order, and one person has at most half of them (fairness.py). Pages that compute much have their own
threads (heavy.py).
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, cast

from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.exception import response_for_exception
from django.db import DatabaseError, connection, connections
from django.http import FileResponse, StreamingHttpResponse
from django.urls import get_resolver, set_script_prefix

from kschedweb.engine.patience import Patience, limit_by
from kschedweb.web import health, problems
from kschedweb.web.fairness import Callers, FairThreads
from kschedweb.web.heavy import is_heavy, person_of
from kschedweb.web.outages import DatabaseAway

if TYPE_CHECKING:
    from django.core.handlers.asgi import ASGIRequest
    from django.http.response import HttpResponseBase

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

# Seconds that a request waits for a connection.
POOL_PATIENCE = 1.5
# Seconds without an answer after which the database is checked.
LOOK_AFTER = 0.6
# Seconds of silence after which the database counts as away.
SILENCE = 0.9
# Bytes of a file read at once; more than any static file has.
FILE_PART = 1 << 24
# Seconds for which a client may pause while it sends a body.
BODY_PAUSE = 20.0
# The least bytes per second on average after the first pause.
BODY_RATE = 1024


class Handler(ASGIHandler):
    """Django's handler with fixed threads. The original starts a thread for each request, with a connection for
    each.
    """

    def __init__(self) -> None:
        # Not the parent's __init__, which would run middleware on several threads.
        self.load_middleware()
        # Import all pages now, and not during the first request.
        _ = get_resolver().url_patterns
        self._threads = ThreadPoolExecutor(settings.REQUEST_THREADS, "request")
        self._light = FairThreads[Any](self._threads, settings.REQUEST_THREADS // 2)
        self._heavy = FairThreads["HttpResponseBase"](ThreadPoolExecutor(settings.HEAVY_THREADS, "heavy"), 1)
        self._callers = Callers()
        self._probes = ThreadPoolExecutor(2, "probe")
        if pool := getattr(connection, "pool", None):
            pool.timeout = POOL_PATIENCE

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"This application answers HTTP, not {scope['type']}.")
        await self.handle(scope, receive, send)

    async def handle(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        try:
            body = await self._patient_body(receive)
        except RequestAborted:
            return
        except TimeoutError:
            await self._answer_late(scope, send)
        else:
            await self._serve_request(scope, body, receive, send)

    async def _patient_body(self, receive: Receive) -> IO[bytes]:
        """Read the body. Raises TimeoutError if the client pauses too long or sends too slowly."""
        loop, received = asyncio.get_running_loop(), 0
        begun = loop.time()
        async with asyncio.timeout(BODY_PAUSE) as limit:

            async def receive_part() -> Any:
                nonlocal received
                message = await receive()
                received += len(message.get("body", b""))
                limit.reschedule(BODY_PAUSE + min(loop.time(), begun + received / BODY_RATE))
                return message

            return await self.read_body(receive_part)

    async def _answer_late(self, scope: dict[str, Any], send: Send) -> None:
        request, refusal = self.create_request(scope, BytesIO())
        if request is not None:
            refusal = problems.answer_problem(
                request, 408, "The request did not come to its end in time. Send it again."
            )
            refusal["Connection"] = "close"
        await self.send_response(cast("HttpResponseBase", refusal), send)

    async def _serve_request(self, scope: dict[str, Any], body: IO[bytes], receive: Receive, send: Send) -> None:
        request, refusal = self.create_request(scope, body)
        if request is None:
            await self.send_response(cast("HttpResponseBase", refusal), send)
            return
        answering = asyncio.ensure_future(self._send_answer(request, send))
        # After the body, the only message is that the client left.
        leaving = asyncio.ensure_future(receive())
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            answering.cancel()
            leaving.cancel()
            await asyncio.wait({answering, leaving})
        if not answering.cancelled():
            answering.result()

    async def _send_answer(self, request: ASGIRequest, send: Send) -> None:
        response = await self._compute_response(request)
        try:
            await self.send_response(response, send)
        finally:
            response.close()

    async def _compute_response(self, request: ASGIRequest) -> HttpResponseBase:
        """Return the response of a thread to ``request``; if the database is away, an error at once."""
        # Liveness must be answered even while all threads are busy.
        if request.path == "/livez":
            return health.answer_liveness()
        patience = None if request.path == "/readyz" else LOOK_AFTER
        waits = Patience(settings.HEAVY_SECONDS)
        work = self._begin_work(request, waits)
        answered = asyncio.wrap_future(work)
        try:
            while not (await asyncio.wait({answered}, timeout=patience))[0]:
                if await health.database_is_away(SILENCE):
                    _abandon_work(work, waits)
                    return problems.answer_refusal(request, DatabaseAway())
        except asyncio.CancelledError:
            _abandon_work(work, waits)
            raise
        return answered.result()

    def _begin_work(self, request: ASGIRequest, waits: Patience) -> Future[HttpResponseBase]:
        """Begin to answer ``request`` in the threads that are for it."""
        context = contextvars.copy_context()
        if request.path == "/readyz":
            return self._probes.submit(context.run, self._in_thread, request)
        future: Future[HttpResponseBase] = Future()
        caller = self._callers.caller_of(request)
        if not is_heavy(request.path_info):
            self._light.submit(caller, future, partial(context.run, self._in_thread, request))
            return future
        work = partial(context.run, self._in_heavy_thread, request, waits)
        # The caller of a heavy page is found in a light thread first, because that reads the database.
        self._light.submit(caller, Future(), partial(self._line_up, request, future, work))
        return future

    def _line_up(
        self, request: ASGIRequest, future: Future[HttpResponseBase], work: Callable[[], HttpResponseBase]
    ) -> None:
        """Queue heavy ``work`` until it is the person's turn."""
        if future.cancelled():
            return
        try:
            person = person_of(request)
        except DatabaseError:
            # The page reports the outage itself.
            person = ""
        finally:
            connections.close_all()
        self._heavy.submit(person, future, work)

    def _in_heavy_thread(self, request: ASGIRequest, waits: Patience) -> HttpResponseBase:
        with limit_by(waits):
            return self._in_thread(request)

    def _in_thread(self, request: ASGIRequest) -> HttpResponseBase:
        set_script_prefix(get_script_prefix(request.scope))
        try:
            signals.request_started.send(sender=type(self), scope=request.scope)
            response = self.get_response(request)
            self._callers.remember_caller(request)
            response._handler_class = type(self)  # type: ignore[attr-defined]  # the sender of request_finished
            try:
                return self._detach_response(response)
            except Exception as error:
                response.close()
                return response_for_exception(request, error)
        finally:
            connections.close_all()

    def _detach_response(self, response: HttpResponseBase) -> HttpResponseBase:
        """Return ``response`` in a form that needs no thread for sending; the first part of a stream is read
        already.
        """
        if isinstance(response, FileResponse):
            response.block_size = FILE_PART
        if isinstance(response, StreamingHttpResponse) and not response.is_async:
            parts = iter(cast("Iterable[bytes]", response.streaming_content))
            response.streaming_content = self._stream_parts(next(parts, b""), parts)
        return response

    async def _stream_parts(self, part: bytes | None, parts: Iterator[bytes]) -> AsyncIterator[bytes]:
        """Yield ``part`` and the other ``parts``, each read by a thread after the client received the one before."""
        while part is not None:
            yield part
            work = self._threads.submit(contextvars.copy_context().run, _next_part, parts)
            part = await asyncio.wrap_future(work)


def _next_part(parts: Iterator[bytes]) -> bytes | None:
    try:
        return next(parts, None)
    finally:
        connections.close_all()


def _abandon_work(work: Future[HttpResponseBase], waits: Patience) -> None:
    """Drop a request without a client: it does not start, or stops at its next checkpoint, or its response is
    closed.
    """
    waits.abandon()
    if not work.cancel():
        work.add_done_callback(lambda future: None if future.exception() else future.result().close())
