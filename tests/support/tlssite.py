"""The site over TLS in a thread of this process, for programs that call it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import uvicorn

from tests.support.processes import free_port, wait_until


@contextlib.contextmanager
def site_over_tls(folder: Path, port: int = 0) -> Iterator[str]:
    """Serve the ASGI application as `make run` does, with the certificate in ``folder``; yields its address."""
    from kschedweb.asgi import application

    port = port or free_port()
    config = uvicorn.Config(
        application,
        host="127.0.0.1",
        port=port,
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=1,
        ssl_certfile=str(folder / "certificate.pem"),
        ssl_keyfile=str(folder / "certificate.key"),
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started, "the site listens")
        yield f"https://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)
