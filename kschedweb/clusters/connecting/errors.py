"""Errors of calls to API servers. Their messages reveal nothing about what is behind an address."""

from __future__ import annotations

import ssl

import urllib3

from kschedweb.clusters.connecting.wire import WireError, WireResponse
from kschedweb.web.errors import ApplicationError
from kschedweb.web.redaction import redact_text

# Statuses that may pass, so that a read is tried again.
RETRIED = frozenset({429, 500, 502, 503, 504})
SLOW = "The cluster did not answer in time."
UNREACHABLE = "The cluster cannot be reached at its address."
CONNECTION_REFUSED = "Nothing listens at the cluster's address: it refuses connections."
NO_CONNECTION = "The cluster's address does not answer: no connection came about in time."
# TLS alerts about the client's certificate; an API server refuses other credentials in HTTP.
CERTIFICATE_WANTED = frozenset({"TLSV13_ALERT_CERTIFICATE_REQUIRED"})
CERTIFICATE_REFUSED = frozenset(
    {
        "SSLV3_ALERT_BAD_CERTIFICATE",
        "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
        "SSLV3_ALERT_CERTIFICATE_EXPIRED",
        "SSLV3_ALERT_CERTIFICATE_REVOKED",
        "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
        "TLSV1_ALERT_UNKNOWN_CA",
        "TLSV1_ALERT_ACCESS_DENIED",
    }
)
# Characters of the server's text that are shown.
LONGEST_TEXT = 500


class ClusterError(ApplicationError):
    """The cluster did not answer correctly."""

    status = 502

    def __init__(
        self, message: str, *, code: int = 0, passing: bool = False, wait: float = 0.0, reached: bool = True
    ) -> None:
        super().__init__(message)
        # The HTTP status; 0 without an answer.
        self.code = code
        # True if the server may have received the request.
        self.reached = reached
        # True if a retry may succeed.
        self.passing = passing
        # Seconds of the server's Retry-After.
        self.wait = wait


class ResourceExpired(ClusterError):
    """The resource version has expired (410), so a new list is needed."""


class Stopped(Exception):
    """The reading was interrupted."""


def status_error(code: int, path: str, retry_after: str = "", method: str = "GET") -> ClusterError:
    """Return the error for an HTTP status. It does not contain the server's text, which is not trusted."""
    if code == 410:
        return ResourceExpired(f"The server no longer knows where reading {path} stopped.", code=code)
    # A server must not be able to make this site wait for long.
    wait = min(float(retry_after), 10.0) if retry_after.isdigit() else 0.0
    words = {
        401: "The cluster does not accept the credentials (401): they are wrong or have expired.",
        403: f"The credentials may not {'change' if method == 'PATCH' else 'read'} {path} (403).",
        404: f"The server does not serve {path} (404).",
        429: "The cluster is too busy to answer (429).",
    }
    text = words.get(code) or (
        f"The server sends the request elsewhere ({code}), which is not followed: give its final address."
        if 300 <= code < 400
        else f"The cluster answered {path} with status {code}."
    )
    return ClusterError(text, code=code, passing=code in RETRIED, wait=wait)


def status_text(answer: WireResponse) -> str:
    """Return the message of the Status object with which the API server refused a write; "" for another body."""
    status = answer.json()
    message = status.get("message") if isinstance(status, dict) and status.get("kind") == "Status" else None
    if not isinstance(message, str):
        return ""
    return redact_text("".join(character for character in message if character.isprintable())[:LONGEST_TEXT])


def unanswered_error(error: WireError) -> ClusterError:
    cause = error.__cause__
    if error.reached or isinstance(cause, ssl.SSLError | TimeoutError):
        cluster_error = line_error(cause or error)
        cluster_error.reached = error.reached
        return cluster_error
    return _no_connection(cause or error)


def _no_connection(cause: BaseException) -> ClusterError:
    text = CONNECTION_REFUSED if isinstance(cause, ConnectionRefusedError) else UNREACHABLE
    return ClusterError(text, passing=True, reached=False)


def line_error(error: BaseException) -> ClusterError:
    """Return the error for a failed connection. It reveals nothing about what is behind the address."""
    reason: BaseException = getattr(error, "reason", None) or error
    if isinstance(reason, urllib3.exceptions.SSLError | ssl.SSLError):
        if "CERTIFICATE_VERIFY_FAILED" in str(reason):
            return ClusterError(
                "The server's certificate is not signed by the given certificate authority, "
                "or does not name this address."
            )
        return ClusterError(_tls_text(reason))
    if isinstance(reason, urllib3.exceptions.NewConnectionError):
        return _no_connection(reason.__cause__ or reason)
    if isinstance(reason, urllib3.exceptions.ConnectTimeoutError):
        return ClusterError(NO_CONNECTION, passing=True, reached=False)
    if isinstance(reason, urllib3.exceptions.TimeoutError | TimeoutError):
        return ClusterError(SLOW, passing=True)
    return ClusterError("The connection to the cluster broke off.", passing=True)


def _tls_text(error: BaseException) -> str:
    """Describe a failure in TLS. urllib3 wraps the ssl module's error, which names the reason."""
    original = error.args[0] if error.args and isinstance(error.args[0], ssl.SSLError) else error
    reason = getattr(original, "reason", None)
    if reason in CERTIFICATE_WANTED:
        return "The server wants a client certificate, and there is none in the credentials."
    if reason in CERTIFICATE_REFUSED:
        return "The server refuses the client certificate: another authority may have signed it, or it has expired."
    if isinstance(original, ssl.SSLEOFError):
        # With TLS 1.3 a client may notice that the server has gone before it reads why.
        return "The server ended the connection in TLS: it may refuse the client certificate, or want one."
    return "The server does not answer with TLS."
