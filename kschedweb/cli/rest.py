"""Call the site's REST API with the standard library. The token is sent only to the address that it was given for."""

from __future__ import annotations

import json
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qs, quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from kschedweb import __version__
from kschedweb.cli.exits import CommandError, Exit
from kschedweb.cli.settings import CliSettings

# For one call.
SECONDS = 120.0
# Rows of one page of a list.
PAGE = 500
# Bytes of an answer.
LARGEST = 512 * 1024 * 1024
# Characters of an error that are shown.
LONGEST = 2_000
UNSET = "no server: set KSCHEDWEB_URL and KSCHEDWEB_TOKEN, or write a configuration file (docs/automating.md)"
LOCAL = ("127.0.0.1", "::1", "localhost")
# Names of Services, which only resolve inside a cluster, so that http is enough.
INSIDE = (".svc", ".svc.cluster.local")
# Statuses that tell of the server's state, not of the caller's fault.
FAULTY = (429,)


@dataclass(frozen=True)
class ApiResponse:
    status: int
    text: str

    @property
    def body(self) -> Any:
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            raise CommandError("the server's answer is not JSON: is it kschedweb?", Exit.UNREACHABLE) from None


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect, since another server must not see the token."""

    def redirect_request(self, *_: Any) -> None:
        return None


class RestCalls(ABC):
    """The calls of REST; subclasses carry them to the site."""

    def get(self, *path: str, **query: object) -> ApiResponse:
        """Get ``path``, whose parts are escaped here."""
        parameters = {key: value for key, value in query.items() if value not in (None, "")}
        return self._send_request("GET", _join_path(path) + (f"?{urlencode(parameters)}" if parameters else ""))

    def post(self, *path: str, body: object = None) -> ApiResponse:
        return self._send_request("POST", _join_path(path), json.dumps(body or {}).encode())

    def get_list(self, *path: str, max_results: int, **query: object) -> list[Any]:
        """Return the first ``max_results`` results, from as many pages as needed."""
        return list(self._iterate_results(path, max_results, query))

    def _iterate_results(self, path: tuple[str, ...], max_results: int, query: dict[str, object]) -> Iterator[Any]:
        cursor = ""
        while max_results > 0:
            page = self.get(*path, limit=min(max_results, PAGE), cursor=cursor, **query).body
            yield from page["results"][:max_results]
            max_results -= len(page["results"])
            following = page["next"]
            if not following or not page["results"]:
                return
            cursor = _parse_cursor(following)

    @abstractmethod
    def _send_request(self, method: str, path: str, body: bytes | None = None) -> ApiResponse:
        """Return the answer to a call of ``path`` below /api/v1/. Raise CommandError for a problem."""


class Server(RestCalls):
    """The site, with the rights of one token."""

    def __init__(self, settings: CliSettings) -> None:
        parts = urlsplit(settings.server)
        if not settings.server:
            raise CommandError(UNSET)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise CommandError("KSCHEDWEB_URL: must be an address such as https://kschedweb.example.com")
        if parts.scheme == "http" and parts.hostname not in LOCAL and not parts.hostname.endswith(INSIDE):
            raise CommandError("KSCHEDWEB_URL: must begin with https://, as the token is sent there", Exit.REFUSED)
        if not settings.token:
            raise CommandError("no token: set KSCHEDWEB_TOKEN, or token_file in the configuration file", Exit.REFUSED)
        if not settings.token.isascii() or not settings.token.isprintable():
            raise CommandError("KSCHEDWEB_TOKEN: is no token", Exit.REFUSED)
        self.address = f"{settings.server.rstrip('/')}/api/v1/"
        self._token = settings.token
        try:
            trusted = ssl.create_default_context(cafile=settings.ca_file or None)
        except OSError as error:
            raise CommandError(f"KSCHEDWEB_CA_FILE: {settings.ca_file}: {error.strerror or error}") from None
        self._opener = build_opener(_NoRedirects, HTTPSHandler(context=trusted))

    def _send_request(self, method: str, path: str, body: bytes | None = None) -> ApiResponse:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Accept": "application/json",
            "User-Agent": f"kschedweb/{__version__}",
            **({"Content-Type": "application/json"} if body is not None else {}),
        }
        request = Request(self.address + path, body, headers, method=method)  # noqa: S310  the scheme was checked
        try:
            with self._opener.open(request, timeout=SECONDS) as answer:
                return ApiResponse(answer.status, _read_body(answer).decode("utf-8", "replace"))
        except HTTPError as error:
            with error:
                raise problem_to_error(error.code, error.headers.get("Location", ""), error.read(1024 * 1024)) from None
        except (URLError, HTTPException, TimeoutError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise CommandError(f"{self.address}: cannot be reached: {reason}", Exit.UNREACHABLE) from None


def _read_body(answer: HTTPResponse) -> bytes:
    """Read the whole answer. Raise TimeoutError for one that comes too slowly, though each read succeeds."""
    parts, size, end = list[bytes](), 0, time.monotonic() + SECONDS
    while size < LARGEST and (part := answer.read1(1 << 16)):
        parts.append(part)
        size += len(part)
        if time.monotonic() > end:
            raise TimeoutError(f"the answer did not come to its end within {SECONDS:.0f} s")
    return b"".join(parts)


def _join_path(parts: tuple[str, ...]) -> str:
    return "".join(f"{quote(part, safe='')}/" for part in parts)


def _parse_cursor(following: str) -> str:
    return parse_qs(urlsplit(following).query).get("cursor", [""])[0]


def problem_to_error(status: int, elsewhere: str, body: bytes) -> CommandError:
    """Return a problem document (RFC 9457) as an error of one line."""
    kind = Exit.WRONG
    if status in (401, 403):
        kind = Exit.REFUSED
    elif status >= 500 or status in FAULTY or 300 <= status < 400:
        kind = Exit.UNREACHABLE
    try:
        raw = json.loads(body)
        errors = [problem for problem in raw.get("errors") or [] if problem.get("message")]
        details = "; ".join(
            f"{problem['path']}: {problem['message']}" if problem.get("path") else problem["message"]
            for problem in errors
        )
        text = details or raw.get("detail") or raw.get("title") or ""
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
        text = ""
    if 300 <= status < 400:
        text = f"it sends elsewhere ({elsewhere}), which is not followed"
    return CommandError(f"the server answered {status}: {str(text)[:LONGEST] or 'it says no more'}", kind)
