"""The sandbox's API server over HTTP: an ASGI application around the engine's, which knows no connections."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from hmac import compare_digest
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.requests import Request, Watch
from kschedweb.engine.sandbox.selection import whole_number
from kschedweb.engine.sandbox.status_errors import ApiRefusal, bad_request, unauthorized

if TYPE_CHECKING:
    from kschedweb.engine.sandbox.requests import ApiResponse
    from kschedweb.engine.sandbox.store import Store, StoreChange

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

# Bytes; the limit of kube-apiserver.
LARGEST_BODY = 3 * 1024 * 1024
# Seconds without an event after which a watch gets a bookmark.
BOOKMARK_SECONDS = 60.0
# Seconds.
LONGEST_WATCH = 86_400.0
# Seconds of a watch that names no end, drawn between these, as kube-apiserver does.
WATCH_SECONDS = (1800, 3600)
# Events that a watch may lag behind before it is ended.
MOST_WAITING = 1000


class Transport:
    """Calls ``carry_out``, which answers a request and has kept its changes when it returns. One thread calls all of
    it.
    """

    def __init__(self, carry_out: Callable[[Request], ApiResponse | Watch], store: Store, token: str) -> None:
        self._carry_out, self._store, self._token = carry_out, store, token.encode()
        self._lines: tuple[StoreChange | None, dict[tuple[str, str], bytes]] = (None, {})
        self._watches: set[asyncio.Queue[bytes | None]] = set()

    def end_watches(self) -> None:
        """Let each watch end as if its time were over."""
        for waiting in self._watches:
            waiting.put_nowait(None)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        headers = {name: value for name, value in scope["headers"]}
        try:
            request = await _read_request(
                {**scope, "path": self._authorized_path(scope["path"], headers)}, headers, receive
            )
        except ApiRefusal as refusal:
            return await _send_answer(send, refusal.code, refusal.body)
        answer = self._carry_out(request)
        if isinstance(answer, Watch):
            return await self._stream_watch(answer, request, receive, send)
        return await _send_answer(send, answer.code, answer.body)

    def _authorized_path(self, path: str, headers: dict[bytes, bytes]) -> str:
        """Return the path for a client with the token, in a header or before the path: kubectl sends none over http.

        Raises ApiRefusal if it is missing or wrong.
        """
        first, _, remainder = path[1:].partition("/")
        if compare_digest(first.encode(), self._token):
            return f"/{remainder}"
        if not compare_digest(headers.get(b"authorization", b""), b"Bearer " + self._token):
            raise unauthorized()
        return path

    async def _stream_watch(self, watch: Watch, request: Request, receive: Receive, send: Send) -> None:
        """Send events line by line, until the watch's time is over, or its client is gone or does not keep up."""
        timeout_text = request.query.get("timeoutSeconds", "")
        longest = random.uniform(*WATCH_SECONDS)  # noqa: S311
        seconds = min(whole_number(timeout_text) or longest, LONGEST_WATCH)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        disconnect = asyncio.ensure_future(_wait_for_disconnect(receive))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for line in self._event_lines(watch, disconnect):
                    await send({"type": "http.response.body", "body": line, "more_body": True})
        if not disconnect.done():
            disconnect.cancel()
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _event_lines(self, watch: Watch, disconnect: asyncio.Future[None]) -> AsyncIterator[bytes]:
        waiting: asyncio.Queue[bytes | None] = asyncio.Queue()

        def on_change(change: StoreChange) -> None:
            if waiting.qsize() < MOST_WAITING and (line := self._event_line(watch, change)):
                waiting.put_nowait(line)
            elif waiting.qsize() == MOST_WAITING:
                waiting.put_nowait(None)

        disconnect.add_done_callback(lambda _: waiting.put_nowait(None))
        end = self._store.add_listener(on_change)
        self._watches.add(waiting)
        try:
            if watch.first:
                yield b"".join(map(_dump_line, watch.first))
            while True:
                try:
                    line = await asyncio.wait_for(waiting.get(), BOOKMARK_SECONDS)
                except TimeoutError:
                    line = _dump_line(watch.bookmark()) if watch.bookmarks else b"\n"
                if line is None:
                    return
                yield line
        finally:
            self._watches.discard(waiting)
            end()

    def _event_line(self, watch: Watch, change: StoreChange) -> bytes | None:
        """Return the event of a change. Watches with the same event share the text."""
        event = watch.event(change)
        if event is None:
            return None
        if self._lines[0] is not change:
            self._lines = (change, {})
        key = event["type"], event["object"].get("kind", "") + event["object"].get("apiVersion", "")
        lines = self._lines[1]
        if key not in lines:
            lines[key] = _dump_line(event)
        return lines[key]


async def _read_request(scope: MutableMapping[str, Any], headers: dict[bytes, bytes], receive: Receive) -> Request:
    """Read the request. Raises ApiRefusal if the body cannot be read."""
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST_BODY:
            raise ApiRefusal(413, "RequestEntityTooLarge", f"Request entity too large: limit is {LARGEST_BODY}")
    try:
        parsed = json.loads(body, parse_constant=_refuse_constant) if body else None
    except (ValueError, RecursionError) as error:
        raise bad_request(
            f"the object provided is unrecognized: couldn't get version/kind; json parse error: {error}"
        ) from None
    query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    content, accept = (
        headers.get(name, b"application/json").decode("latin-1") for name in (b"content-type", b"accept")
    )
    return Request(scope["method"], scope["path"], query, parsed, content, accept)


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


async def _send_answer(send: Send, code: int, body: Json) -> None:
    text = _dump_line(body)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())]
    seconds = body.get("details", {}).get("retryAfterSeconds") if code == 429 else None
    if seconds:
        headers.append((b"retry-after", str(seconds).encode()))
    await send({"type": "http.response.start", "status": code, "headers": headers})
    await send({"type": "http.response.body", "body": text})


async def _wait_for_disconnect(receive: Receive) -> None:
    """Return when the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _dump_line(body: Json) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"
