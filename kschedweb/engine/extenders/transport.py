"""Requests to extenders over HTTP. Only the command line uses this, and only if it is asked to."""

from __future__ import annotations

import base64
import http.client
import ssl
import tempfile
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from kschedweb.engine.extenders.extender import Post, TransportError
from kschedweb.engine.json_types import Json

HEADERS = {"Content-Type": "application/json", "Connection": "close"}
# The words of Go's http.Client.
TIMED_OUT = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"


def create_post(extenders: Iterable[Json]) -> Post:
    """Return a function that posts to the addresses of these configurations, with the TLS settings of each."""
    settings = {(extender.get("urlPrefix") or "").rstrip("/"): extender for extender in extenders}

    def post_message(url: str, body: bytes, timeout: float) -> tuple[int, bytes]:
        extender = next((settings[prefix] for prefix in settings if url.startswith(f"{prefix}/")), {})
        try:
            connection, path = _open_connection(url, timeout, extender)
        except (OSError, ValueError) as error:
            raise TransportError(str(error)) from None
        try:
            connection.request("POST", path, body, HEADERS)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except TimeoutError:
            raise TransportError(TIMED_OUT) from None
        except (OSError, http.client.HTTPException) as error:
            raise TransportError(_describe_error(error, connection)) from None
        finally:
            connection.close()

    return post_message


def _open_connection(url: str, timeout: float, extender: Json) -> tuple[http.client.HTTPConnection, str]:
    """Return the connection and the path to request. Raises OSError or ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise ValueError(f'unsupported protocol scheme "{parts.scheme}"')
    path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=timeout), path
    tls = extender.get("tlsConfig") or {}
    connection = _NamedConnection(
        host, port, timeout=timeout, context=_create_context(tls, bool(extender.get("enableHTTPS")))
    )
    connection.server_name = tls.get("serverName") or host
    return connection, path


class _NamedConnection(http.client.HTTPSConnection):
    """A connection that expects a certificate for ``server_name`` rather than for the host it connects to."""

    server_name = ""

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._context.wrap_socket(self.sock, server_hostname=self.server_name)  # type: ignore[attr-defined]


def _create_context(tls: Json, encrypted_only: bool) -> ssl.SSLContext:
    """Return the TLS settings. As in kube-scheduler, enableHTTPS without a CA accepts any certificate."""
    # Characters beyond ASCII can only stand in comments around the certificates, which Go skips.
    authorities = base64.b64decode(tls.get("caData") or "").decode("ascii", "ignore") or None
    context = ssl.create_default_context(cafile=tls.get("caFile") or None, cadata=authorities)
    has_ca = bool(authorities or tls.get("caFile"))
    if tls.get("insecure") or (encrypted_only and not has_ca):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate, key = tls.get("certData"), tls.get("keyData")
    if certificate and key:
        with tempfile.TemporaryDirectory() as folder:
            # Python loads a client certificate from files only.
            pair = Path(folder, "pair.pem")
            pair.touch(mode=0o600)
            pair.write_bytes(base64.b64decode(certificate) + b"\n" + base64.b64decode(key))
            context.load_cert_chain(pair)
    elif tls.get("certFile"):
        context.load_cert_chain(tls["certFile"], tls.get("keyFile") or None)
    return context


def _describe_error(error: Exception, connection: http.client.HTTPConnection) -> str:
    if isinstance(error, ConnectionRefusedError):
        return f"dial tcp {connection.host}:{connection.port}: connect: connection refused"
    return str(error) or type(error).__name__
