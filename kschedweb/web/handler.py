"""From ASGI to Django: fixed numbers of threads answer requests, each from its first query to its last.

That thread gives its database connection back before the first byte of the answer is sent. So a stream, a slow reader
or a client that left holds neither a thread nor a connection. As many requests as there are threads are worked on at
once, the others wait in their order. Pages that compute much have two threads of their own.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, cast

from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.exception import response_for_exception
from django.db import connection, connections
from django.http import FileResponse, StreamingHttpResponse
from django.urls import get_resolver, set_script_prefix

from kschedweb.web import health, problems
from kschedweb.web.heavy import is_heavy
from kschedweb.web.outages import DatabaseAway

if TYPE_CHECKING:
    from django.core.handlers.asgi import ASGIRequest
    from django.http.response import HttpResponseBase

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

POOL_PATIENCE = 1.5  # seconds that a request waits for a connection
LOOK_AFTER = 0.6  # seconds without an answer after which it is asked whether the database is the reason
SILENCE = 0.9  # seconds without a word from the database after which it counts as away
FILE_PART = 1 << 24  # bytes of a file that are read at once: more than any static file has
BODY_PAUSE = 20.0  # seconds for which a client may send nothing of a body
BODY_RATE = 1024  # bytes a second that it sends at least, on average after the first pause


class Handler(ASGIHandler):
    """Django's own handler starts a thread for each request, which keeps its connection until the answer is sent."""

    def __init__(self) -> None:
        # Not the parent's: it would have the middleware hop between threads.
        self.load_middleware()
        _ = get_resolver().url_patterns  # read now, so that the first request need not wait for every page's code
        self._threads = ThreadPoolExecutor(settings.REQUEST_THREADS, "request")
        self._heavy = ThreadPoolExecutor(settings.HEAVY_THREADS, "heavy")
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
            await self._late(scope, send)
        else:
            await self._serve(scope, body, receive, send)

    async def _patient_body(self, receive: Receive) -> IO[bytes]:
        """The body; TimeoutError where the client pauses, or sends so slowly that it would never end."""
        loop, received = asyncio.get_running_loop(), 0
        begun = loop.time()
        async with asyncio.timeout(BODY_PAUSE) as limit:

            async def part() -> Any:
                nonlocal received
                message = await receive()
                received += len(message.get("body", b""))
                limit.reschedule(BODY_PAUSE + min(loop.time(), begun + received / BODY_RATE))
                return message

            return await self.read_body(part)

    async def _late(self, scope: dict[str, Any], send: Send) -> None:
        request, refusal = self.create_request(scope, BytesIO())
        if request is not None:
            refusal = problems.answer(request, 408, "The request did not come to its end in time. Send it again.")
            refusal["Connection"] = "close"
        await self.send_response(cast("HttpResponseBase", refusal), send)

    async def _serve(self, scope: dict[str, Any], body: IO[bytes], receive: Receive, send: Send) -> None:
        request, refusal = self.create_request(scope, body)
        if request is None:
            await self.send_response(cast("HttpResponseBase", refusal), send)
            return
        answering = asyncio.ensure_future(self._answer(request, send))
        leaving = asyncio.ensure_future(receive())  # after the body nothing comes but word that the client left
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            answering.cancel()
            leaving.cancel()
            await asyncio.wait({answering, leaving})
        if not answering.cancelled():
            answering.result()

    async def _answer(self, request: ASGIRequest, send: Send) -> None:
        response = await self._response(request)
        try:
            await self.send_response(response, send)
        finally:
            response.close()

    async def _response(self, request: ASGIRequest) -> HttpResponseBase:
        """What a thread makes of ``request``; without the database nobody waits for it."""
        if request.path == "/livez":
            return health.liveness()
        threads, patience = self._room(request)
        work = threads.submit(contextvars.copy_context().run, self._in_thread, request)
        answered = asyncio.wrap_future(work)
        try:
            while not (await asyncio.wait({answered}, timeout=patience))[0]:
                if await health.database_is_away(SILENCE):
                    _abandon(work)
                    return problems.refusal(request, DatabaseAway())
        except asyncio.CancelledError:
            _abandon(work)
            raise
        return answered.result()

    def _room(self, request: ASGIRequest) -> tuple[ThreadPoolExecutor, float | None]:
        """The threads for ``request``, and the seconds after which to ask whether the database is away."""
        if request.path == "/readyz":
            return self._probes, None
        return self._heavy if is_heavy(request.path_info) else self._threads, LOOK_AFTER

    def _in_thread(self, request: ASGIRequest) -> HttpResponseBase:
        set_script_prefix(get_script_prefix(request.scope))
        try:
            signals.request_started.send(sender=type(self), scope=request.scope)
            response = self.get_response(request)
            response._handler_class = type(self)  # type: ignore[attr-defined]  # the sender of request_finished
            try:
                return self._detached(response)
            except Exception as error:
                response.close()
                return response_for_exception(request, error)
        finally:
            connections.close_all()

    def _detached(self, response: HttpResponseBase) -> HttpResponseBase:
        """``response`` so that sending it needs no thread; a stream has its first part in hand."""
        if isinstance(response, FileResponse):
            response.block_size = FILE_PART
        if isinstance(response, StreamingHttpResponse) and not response.is_async:
            parts = iter(cast("Iterable[bytes]", response.streaming_content))
            response.streaming_content = self._each(next(parts, b""), parts)
        return response

    async def _each(self, part: bytes | None, parts: Iterator[bytes]) -> AsyncIterator[bytes]:
        """``part`` and the other ``parts``, each read by a thread once the client has taken the one before."""
        while part is not None:
            yield part
            work = self._threads.submit(contextvars.copy_context().run, _following, parts)
            part = await asyncio.wrap_future(work)


def _following(parts: Iterator[bytes]) -> bytes | None:
    try:
        return next(parts, None)
    finally:
        connections.close_all()


def _abandon(work: Future[HttpResponseBase]) -> None:
    """Nobody waits for the answer any more: it is not begun, or closed as soon as it is there."""
    if not work.cancel():
        work.add_done_callback(lambda done: None if done.exception() else done.result().close())
