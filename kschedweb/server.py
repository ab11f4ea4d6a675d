"""The HTTP server of the web process, embedded and scaled out: ``python -m kschedweb.server``.

It is uvicorn with patience: a client that does not send what it began, or does not read its answer, is cut off.
"""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Any

import h11
import uvicorn
from django.core.exceptions import ImproperlyConfigured
from uvicorn.protocols.http.h11_impl import H11Protocol

from kschedweb.web import env, variables

HEAD_WITHIN = 10.0  # seconds from a connection's or a head's first sign to the end of the head
READ_WITHIN = 60.0  # seconds in which a client must take something of its answer
LATE = b"The head of the request did not come to its end in time."
LATE_ANSWER = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"
    b"Connection: close\r\n\r\n%b" % (len(LATE), LATE)
)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")
    with env.one_line_errors(), contextlib.suppress(KeyboardInterrupt):
        make_server(patience=20).run(sockets=[open_listener(*listen_address())])


def listen_address() -> tuple[str, int]:
    """Return the host and the port to listen on, by the environment."""
    return variables.HOST.read(), variables.PORT.read()


def open_listener(host: str, port: int) -> socket.socket:
    """Take the port before anything else is done, so that a taken one is said at once."""
    try:
        info = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        family, kind, protocol, _, socket_address = info
        # With the protocol left out, asyncio would not know it for TCP and leave Nagle's algorithm on.
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(socket_address)
        listener.listen(2048)
    except OSError as error:
        reason = error.strerror or str(error)
        advice = f"Choose another port: KSCHEDWEB_PORT={port + 1} may be free."
        raise ImproperlyConfigured(f"cannot listen on {host}:{port}: {reason}. {advice}") from None
    return listener


def make_server(patience: int) -> Server:
    """The server of the site; ``patience`` are the seconds that requests have to end once it is told to stop."""
    return Server(
        uvicorn.Config(
            "kschedweb.asgi:application",
            http=Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # the site reads them itself, where the operator has a proxy
            timeout_graceful_shutdown=patience,
        )
    )


class Server(uvicorn.Server):
    """Looks at every connection once a second."""

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            for connection in list(self.server_state.connections):
                if isinstance(connection, Protocol):
                    connection.check_timeouts()
        return await super().on_tick(counter)


class Protocol(H11Protocol):
    """HTTP/1.1 that remembers since when it waits for its client."""

    _head_since: float | None = None
    _unread_since: float | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._head_since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._head_since = None
        elif self._head_since is None:
            self._head_since = self.loop.time()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_since = self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread_since = None

    def check_timeouts(self) -> None:
        """Cut the connection where its client has taken too long."""
        now = self.loop.time()
        if self._unread_since is not None and now - self._unread_since > READ_WITHIN:
            self.transport.abort()
        elif self._head_since is not None and now - self._head_since > HEAD_WITHIN:
            begun, _ = self.conn.trailing_data
            if begun:
                self.transport.write(LATE_ANSWER)
            self.transport.close()


if __name__ == "__main__":
    main()
