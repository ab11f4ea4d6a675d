"""What can go wrong with a call to an API server, in words that say nothing of what is behind its address."""

from __future__ import annotations

import ssl

import urllib3

from kschedweb.clusters.connecting.wire import WireError, WireResponse
from kschedweb.web.errors import ApplicationError
from kschedweb.web.redaction import redact_text

RETRIED = frozenset({429, 500, 502, 503, 504})
SLOW = "The cluster did not answer in time."
LONGEST_TEXT = 500


class ClusterError(ApplicationError):
    """The cluster did not answer as it should; ``code`` is the HTTP status, 0 where there was none."""

    status = 502

    def __init__(
        self, message: str, *, code: int = 0, passing: bool = False, wait: float = 0.0, reached: bool = True
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reached = reached  # the server may have got the request
        self.passing = passing  # worth another try
        self.wait = wait  # seconds that the server asked for


class Gone(ClusterError):
    """The place to go on from is no longer known to the server (410): read the list anew."""


class Stopped(Exception):
    """The reading was called off."""


def refusal(code: int, path: str, retry_after: str = "", method: str = "GET") -> ClusterError:
    """The error of an HTTP status. The server's own text stays out: it may come from anywhere and hold anything."""
    if code == 410:
        return Gone(f"The server no longer knows where reading {path} stopped.", code=code)
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
    """What the API server says of a write that it refused: the message of its Status object, "" for anything else."""
    status = answer.json()
    message = status.get("message") if isinstance(status, dict) and status.get("kind") == "Status" else None
    if not isinstance(message, str):
        return ""
    return redact_text("".join(character for character in message if character.isprintable())[:LONGEST_TEXT])


def unanswered(error: WireError) -> ClusterError:
    cause = error.__cause__
    if error.reached or isinstance(cause, ssl.SSLError | TimeoutError):
        found = line_error(cause or error)
        found.reached = error.reached
        return found
    return ClusterError("The cluster cannot be reached at its address.", passing=True, reached=False)


def line_error(error: BaseException) -> ClusterError:
    """What went wrong on the line, in words that say nothing of what is behind it."""
    reason: BaseException = getattr(error, "reason", None) or error
    if isinstance(reason, urllib3.exceptions.SSLError | ssl.SSLError):
        if "CERTIFICATE_VERIFY_FAILED" in str(reason):
            return ClusterError(
                "The server's certificate is not signed by the given certificate authority, "
                "or does not name this address."
            )
        return ClusterError("The server does not speak TLS as expected.")
    if isinstance(reason, urllib3.exceptions.NewConnectionError):
        return ClusterError("The cluster cannot be reached at its address.", passing=True, reached=False)
    if isinstance(reason, urllib3.exceptions.TimeoutError | TimeoutError):
        return ClusterError(SLOW, passing=True)
    return ClusterError("The connection to the cluster broke off.", passing=True)
