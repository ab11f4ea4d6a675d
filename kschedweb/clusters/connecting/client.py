"""The client of a cluster's API server: checked address, checked certificate, time limits, raw JSON.

One function of the ``kubernetes`` package is used, ``ApiClient.call_api``. It sends lists and watches over a pool of
urllib3, as client libraries do, and writes JSON bodies. Its configuration files, models, proxies and redirects are not
used.
"""

from __future__ import annotations

import json
import random
import ssl
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Protocol
from urllib.parse import urlencode

import urllib3
from kubernetes.client import ApiClient, Configuration
from urllib3.util.retry import Retry

from kschedweb import __version__
from kschedweb.clusters.connecting.addresses import CheckedEndpoint, endpoint_check
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.clusters.connecting.errors import (
    SLOW,
    ClusterError,
    Stopped,
    line_error,
    status_error,
    unanswered_error,
)
from kschedweb.clusters.connecting.wire import KEEP_ALIVE, Wire, WireError, WireResponse
from kschedweb.engine.json_types import Json
from kschedweb.web.errors import ApplicationError

# Seconds to connect, and between two reads.
CONNECT_SECONDS = 5.0
READ_SECONDS = 30.0
# Seconds for one whole answer, however slow.
ANSWER_SECONDS = 120.0
# Objects in a page of a list, as client-go has it by default.
PAGE = 500
ATTEMPTS = 4
# Seconds before the second attempt, at most.
PAUSE_SECONDS = 0.4
UNAUTHORIZED = 401
# Bytes of one answer, or of one event of a watch.
LARGEST_BODY = 256 * 1024 * 1024
# Connections that the pool keeps open.
CONNECTIONS = 16
JSON = "application/json"
MERGE = "application/merge-patch+json"
# The server merges lists of conditions by their type.
STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True)
class Page:
    # One page of a list.
    items: list[Json]
    resource_version: str
    # The continue token; "" on the last page.
    next_token: str
    # Objects on later pages, as far as the server tells.
    remaining: int


class SecretSource(Protocol):
    """A source of the current secret, which may be replaced while a client is in use."""

    def secret(self) -> Secret:
        """Return the current secret."""

    def refused(self, secret: Secret) -> bool:
        """Note that the server refused ``secret``. Returns whether there is another one now."""


def retry_pause(attempt: int) -> float:
    """Return the seconds to wait after ``attempt`` failed. They double each time, and differ between callers."""
    return PAUSE_SECONDS * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)  # noqa: S311


class Client:
    """The client of one cluster. It is thread-safe. ``close`` it, or use it in ``with``.

    With ``keys``, each call uses the current secret, and is repeated once if that was replaced in the meantime.
    """

    def __init__(
        self,
        endpoint: CheckedEndpoint,
        secret: Secret,
        *,
        patience: float | None = None,
        identity: str = "",
        keys: SecretSource | None = None,
    ) -> None:
        configuration = Configuration(host=endpoint.url, proxy="", no_proxy="*")
        # Configuration reads HTTPS_PROXY from the environment; the credentials must not go through a proxy.
        configuration.proxy = None
        self._api = ApiClient(configuration)
        self._base, self._endpoint, self._keys = endpoint.url, endpoint, keys
        self._agent = f"kschedweb/{__version__}" + (f" ({identity})" if identity else "")
        self._use_secret(secret)
        self.stop = Event()
        self._streams: set[urllib3.BaseHTTPResponse] = set()
        self._lock = threading.Lock()
        self._until = None if patience is None else time.monotonic() + patience

    def _use_secret(self, secret: Secret) -> None:
        """Use ``secret`` for further calls."""
        endpoint, headers = self._endpoint, {"User-Agent": self._agent, "Host": self._endpoint.host_header}
        headers |= secret.authorization
        context = tls_context(secret) if endpoint.scheme == "https" else None
        wire = Wire(endpoint, context, secret.tls_server_name or endpoint.host, headers)
        self._api.rest_client.pool_manager = _make_pool(endpoint, secret)
        self._headers, self._wire, self._secret = headers, wire, secret

    def _renew_secret(self) -> Secret:
        """Switch to the current secret and return it. Calls in progress end with the previous one."""
        if self._keys is not None and self._keys.secret() is not self._secret:
            # Another thread may have switched while this one waited for the lock.
            with self._lock:
                secret = self._keys.secret()
                if secret is not self._secret:
                    wire = self._wire
                    self._use_secret(secret)
                    wire.close()
        return self._secret

    def _refused(self, code: int, secret: Secret) -> bool:
        """Return whether a call answered with ``code`` should be repeated with another secret."""
        return code == UNAUTHORIZED and self._keys is not None and self._keys.refused(secret)

    @classmethod
    def open(
        cls,
        secret: Secret,
        *,
        endpoint: CheckedEndpoint | None = None,
        patience: float | None = None,
        identity: str = "",
        keys: SecretSource | None = None,
    ) -> Client:
        """Open a client for ``secret``. Its server is checked against the operator's allowlist first.

        ``patience`` is the limit in seconds of all calls together. ``identity`` names the caller if several processes
        share credentials, so that the API server's audit log distinguishes them.
        """
        checked = endpoint or endpoint_check(secret.server)
        return cls(checked, secret, patience=patience, identity=identity, keys=keys)

    def close(self) -> None:
        self._api.rest_client.pool_manager.clear()
        self._wire.close()

    def interrupt(self) -> None:
        """End all reading at once, from any thread. Calls that wait for the server raise ``Stopped``."""
        self.stop.set()
        with self._lock:
            for response in self._streams:
                with suppress(OSError, ValueError):
                    response.shutdown()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fetch_version(self) -> str:
        """Return the server's version, such as ``v1.36.3``."""
        answer = self.get("/version")
        if not isinstance(answer, dict) or not isinstance(answer.get("gitVersion"), str):
            raise ClusterError("The server answers, but not as a Kubernetes API server does.")
        return str(answer["gitVersion"])[:64]

    def get(self, path: str, **query: object) -> Any:
        return self._request_json("GET", path, query)

    def create(self, path: str, body: Json) -> Any:
        return self._request_json("POST", path, {}, body)

    def patch(self, path: str, body: Json) -> None:
        """Merge ``body`` into the object at ``path``. It is tried once: callers with many writes have their own
        retries.
        """
        with self._request("PATCH", path, {}, body) as response:
            _read_body(response, self._time_left(ANSWER_SECONDS))

    def send(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        content: str = JSON,
        seconds: float = READ_SECONDS,
    ) -> WireResponse:
        """Make one short call without retries. Returns the answer of any status within ``seconds``.

        Raises ClusterError if there is no answer; its ``reached`` says whether the server may have executed the call.
        """
        data = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
        secret = self._renew_secret()
        answer = self._call_wire(method, path, data, content, seconds)
        if self._refused(answer.code, secret):
            self._renew_secret()
            answer = self._call_wire(method, path, data, content, seconds)
        return answer

    def _call_wire(self, method: str, path: str, data: bytes, content: str, seconds: float) -> WireResponse:
        try:
            return self._wire.call(
                method, path, data, content, connect=self._time_left(CONNECT_SECONDS), seconds=self._time_left(seconds)
            )
        except WireError as error:
            raise unanswered_error(error) from error

    def pages(self, path: str, *, limit: int = PAGE, accept: str = JSON, **more: object) -> Iterator[Page]:
        """Read the list at ``path`` page by page, at one resource version. Raises ``ResourceExpired`` if it took too
        long.

        ``accept`` may request only parts of objects; ``more`` has further parameters, such as ``fieldSelector``.
        """
        token = ""
        while True:
            query = {"limit": limit} | more | ({"continue": token} if token else {})
            answer = self._request_json("GET", path, query, accept=accept)
            items, metadata = (
                (answer.get("items"), answer.get("metadata")) if isinstance(answer, dict) else (None, None)
                # Go writes an empty list as null.
            )
            if not isinstance(metadata, dict) or not isinstance(items or [], list):
                raise ClusterError(f"The server's answer for {path} is not a list.")
            token = str(metadata.get("continue") or "")
            remaining = metadata.get("remainingItemCount") or 0
            yield Page(items or [], str(metadata.get("resourceVersion", "")), token, int(remaining))
            if not token:
                return

    def watch(
        self, path: str, resource_version: str, *, seconds: int, idle: float | None = None, **more: object
    ) -> Iterator[Json]:
        """Read the events at ``path`` after ``resource_version``, bookmarks included, for at most ``seconds``.

        ``idle`` is the number of seconds without an event after which the connection counts as broken. ``more`` is as
        for ``pages``.
        """
        query = {
            "watch": "1",
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": seconds,
        } | more
        with (
            self._request("GET", path, query, read_seconds=idle or seconds + READ_SECONDS) as response,
            self._interruptible(response),
        ):
            for line in _read_lines(response):
                if self.stop.is_set():
                    raise Stopped
                event = _parse_json(line, path)
                if event.get("type") == "ERROR":
                    status = event.get("object") or {}
                    raise status_error(int(status.get("code") or 500), path)
                yield event
            if self.stop.is_set():
                raise Stopped

    @contextmanager
    def _interruptible(self, response: urllib3.BaseHTTPResponse) -> Iterator[None]:
        with self._lock:
            self._streams.add(response)
        try:
            if self.stop.is_set():
                raise Stopped
            yield
        except (urllib3.exceptions.HTTPError, OSError):
            if self.stop.is_set():
                raise Stopped from None
            raise
        finally:
            with self._lock:
                self._streams.discard(response)

    def _request_json(
        self, method: str, path: str, query: dict[str, object], body: Json | None = None, accept: str = JSON
    ) -> Any:
        """Return one answer, read completely. Reads are retried if the server is busy or the connection breaks."""
        for attempt in range(1, ATTEMPTS + 1):
            if self.stop.is_set():
                raise Stopped
            try:
                with self._request(method, path, query, body, accept=accept) as response:
                    return _parse_json(_read_body(response, self._time_left(ANSWER_SECONDS)), path)
            except ClusterError as error:
                if attempt == ATTEMPTS or not error.passing or not self._time_left(1):
                    raise
                self.stop.wait(error.wait or retry_pause(attempt))
        raise AssertionError

    def _time_left(self, seconds: float) -> float:
        """Return ``seconds``, or the rest of the client's patience if that is less."""
        return seconds if self._until is None else max(0.0, min(seconds, self._until - time.monotonic()))

    @contextmanager
    def _request(
        self,
        method: str,
        path: str,
        query: dict[str, object],
        body: Json | None = None,
        *,
        read_seconds: float = READ_SECONDS,
        accept: str = JSON,
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        if not self._time_left(1):
            raise ClusterError(SLOW)
        url = f"{self._base}{path}" + (f"?{urlencode(query)}" if query else "")
        more = {"Accept": accept} | ({"Content-Type": MERGE if method == "PATCH" else JSON} if body is not None else {})
        try:
            secret = self._renew_secret()
            response = self._send_request(method, url, body, more, read_seconds)
            if self._refused(response.status, secret):
                response.close()
                self._renew_secret()
                response = self._send_request(method, url, body, more, read_seconds)
            try:
                if response.status >= 300:
                    raise status_error(response.status, path, response.headers.get("Retry-After", ""), method)
                yield response
                response.release_conn()
            except BaseException:
                # A connection with unread data must not be used again.
                response.close()
                raise
        except urllib3.exceptions.HTTPError as error:
            raise line_error(error) from error

    def _send_request(
        self, method: str, url: str, body: Json | None, headers: dict[str, str], read_seconds: float
    ) -> urllib3.BaseHTTPResponse:
        timeout = (self._time_left(CONNECT_SECONDS), self._time_left(read_seconds))
        answer = self._api.call_api(method, url, self._headers | headers, body, None, _request_timeout=timeout)
        response: urllib3.BaseHTTPResponse = answer.response
        return response


def _make_pool(endpoint: CheckedEndpoint, secret: Secret) -> urllib3.PoolManager:
    """Make a pool of connections to the checked address, without redirects, hidden retries and proxies."""
    keywords: dict[str, Any] = {}
    if endpoint.scheme == "https":
        keywords = {"ssl_context": tls_context(secret), "server_hostname": secret.tls_server_name or endpoint.host}
    return urllib3.PoolManager(
        num_pools=1,
        maxsize=CONNECTIONS,
        socket_options=list(KEEP_ALIVE),
        retries=Retry(total=0, redirect=0, raise_on_redirect=False, raise_on_status=False),
        **keywords,
    )


def tls_context(secret: Secret) -> ssl.SSLContext:
    """Make a verifying TLS context with the secret's authority, or the system's if it has none."""
    context = ssl.create_default_context()
    if secret.ca:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_verify_locations(cadata=secret.ca)
        except (ssl.SSLError, ValueError, TypeError):
            raise ApplicationError("The certificate authority is not a PEM certificate.") from None
    if secret.client_certificate:
        with tempfile.TemporaryDirectory() as folder:
            # The ssl module reads client keys only from files. The folder is private, and removed at once.
            pair = Path(folder) / "pair.pem"
            pair.touch(mode=0o600)
            pair.write_text(f"{secret.client_certificate}\n{secret.client_key}\n", encoding="ascii")
            try:
                # Without a password function, OpenSSL would ask for one on the terminal.
                context.load_cert_chain(pair, password=lambda: "")
            except (ssl.SSLError, OSError, ValueError):
                raise ApplicationError("The client certificate and key are not a matching pair of PEM texts.") from None
    return context


def _read_body(response: urllib3.BaseHTTPResponse, seconds: float) -> bytes:
    chunks, size, deadline = [], 0, time.monotonic() + seconds
    for chunk in _read_chunks(response):
        size += len(chunk)
        if time.monotonic() > deadline:
            raise ClusterError(SLOW)
        if size > LARGEST_BODY:
            raise ClusterError("The server's answer is larger than any cluster's page would be.")
        chunks.append(chunk)
    return b"".join(chunks)


def _read_chunks(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """Yield the body as it arrives, without waiting for full chunks."""
    while chunk := response.read1(1024 * 1024, decode_content=True):
        yield chunk


def _read_lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    remainder = b""
    for chunk in _read_chunks(response):
        *lines, remainder = (remainder + chunk).split(b"\n")
        if len(remainder) > LARGEST_BODY:
            raise ClusterError("The server sends an event that does not end.")
        yield from (line for line in lines if line)


def _parse_json(data: bytes, path: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise ClusterError(f"The server's answer for {path} is not JSON.") from None
