"""Instant queries to a Prometheus, or to what speaks its HTTP API (Thanos, Mimir, VictoriaMetrics).

All queries of a run go out together, a few at a time, under one deadline that holds however slowly bytes trickle in.
Nothing that the server sends can do more than fail its own query: answers are limited in size, redirects are not
followed, and proxies are not asked.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from kschedweb import __version__
from kschedweb.clusters.connecting.addresses import Endpoint
from kschedweb.clusters.connecting.client import tls_context
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.web.errors import ApplicationError
from kschedweb.web.redaction import redact_text

CONNECT_SECONDS = 5.0
TOGETHER = 4  # queries at a time: a run must not be what makes Prometheus slow
LARGEST_BODY = 64 * 1024 * 1024
LONGEST_WORDS = 300
MOST_WARNINGS = 5


class PrometheusError(ApplicationError):
    """Prometheus did not answer as it should. ``setting`` says which setting to look at, ``query`` for the query."""

    status = 502

    def __init__(self, message: str, *, setting: str = "address") -> None:
        super().__init__(message, errors=[{"path": setting, "message": message}])
        self.setting = setting


@dataclass(frozen=True)
class Vector:
    """The answer to one instant query."""

    labels: list[dict[str, str]]
    values: NDArray[np.float64]  # one a series; NaN and infinities as the server sent them
    warnings: list[str] = field(default_factory=list)  # Prometheus' own words
    skew: float = 0.0  # seconds that the server's clock is ahead of ours


Answers = dict[str, "Vector | PrometheusError"]


def ask(endpoint: Endpoint, secret: Secret, queries: Mapping[str, str], *, at: float, seconds: float) -> Answers:
    """The answer to each of ``queries`` as of ``at`` (seconds of the epoch), or what was wrong with it.

    Those that are not answered when ``seconds`` are over have failed. Raises ``ApplicationError`` where the
    certificate authority is no such thing.
    """
    context = tls_context(secret) if endpoint.scheme == "https" else None
    # In a thread of its own, since the caller's may have an event loop already.
    with ThreadPoolExecutor(1, thread_name_prefix="prometheus") as pool:
        return pool.submit(lambda: asyncio.run(_ask(endpoint, secret, context, queries, at, seconds))).result()


async def _ask(
    endpoint: Endpoint,
    secret: Secret,
    context: ssl.SSLContext | None,
    queries: Mapping[str, str],
    at: float,
    seconds: float,
) -> Answers:
    turns = asyncio.Semaphore(TOGETHER)
    answers: Answers = {
        name: PrometheusError(f"Prometheus did not answer within {seconds:.0f} s.", setting="query") for name in queries
    }
    transport = httpx.AsyncHTTPTransport(verify=context or False, trust_env=False)
    headers = {"Host": endpoint.host_header, "User-Agent": f"kschedweb/{__version__}", "Accept": "application/json"}
    if secret.token:
        headers["Authorization"] = f"Bearer {secret.token}"
    basic = httpx.BasicAuth(secret.username, secret.password) if secret.username else None
    client = httpx.AsyncClient(
        transport=transport, headers=headers, auth=basic, follow_redirects=False, trust_env=False
    )

    async def one(name: str, query: str, until: float) -> None:
        async with turns:
            try:
                answers[name] = await _query(client, endpoint, query, at, until - time.monotonic())
            except PrometheusError as error:
                answers[name] = error
            except httpx.HTTPError as error:
                answers[name] = _line_error(error)

    async with client:
        try:
            async with asyncio.timeout(seconds):
                until = time.monotonic() + seconds
                await asyncio.gather(*(one(name, query, until) for name, query in queries.items()))
        except TimeoutError:
            pass  # What was answered until then counts; the rest says that it was not.
    return answers


async def _query(client: httpx.AsyncClient, endpoint: Endpoint, query: str, at: float, seconds: float) -> Vector:
    parameters = {"query": query, "time": f"{at:.3f}", "timeout": f"{max(seconds, 0.1):.3f}"}
    request = client.build_request(
        "GET",
        f"{endpoint.url}/api/v1/query",
        params=parameters,
        timeout=httpx.Timeout(max(seconds, 0.1), connect=min(CONNECT_SECONDS, max(seconds, 0.1))),
        extensions={"sni_hostname": endpoint.host},
    )
    asked = time.time()
    response = await client.send(request, stream=True)
    try:
        body, size = [], 0
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > LARGEST_BODY:
                raise PrometheusError(
                    f"The answer is larger than {LARGEST_BODY // 1024 // 1024} MiB: let the query give one series a "
                    "node or a pod.",
                    setting="query",
                )
            body.append(chunk)
    finally:
        await response.aclose()
    found = vector_read(response.status_code, response.headers.get("Content-Type", ""), b"".join(body))
    return Vector(found.labels, found.values, found.warnings, clock_skew(response.headers.get("Date", ""), asked))


def clock_skew(date: str, asked: float) -> float:
    """How far the time in an answer's ``Date`` lies outside of the time between the question and now, in seconds."""
    try:
        told = parsedate_to_datetime(date).timestamp()
    except ValueError:
        return 0.0
    return told - min(max(told, asked), time.time())


def vector_read(status: int, media_type: str, body: bytes) -> Vector:
    """The vector in an answer. Raises ``PrometheusError`` with Prometheus' own words where it gave any."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    told = isinstance(answer, dict) and answer.get("status") in ("success", "error")
    if told and answer["status"] == "error":
        kind, words = _words(answer.get("errorType")), _words(answer.get("error"))
        raise PrometheusError(f"Prometheus says: {words or 'an error'}{f' ({kind})' if kind else ''}", setting="query")
    if status >= 300 or not told:
        raise _refusal(status, media_type)
    data = answer.get("data")
    shape = data.get("resultType") if isinstance(data, dict) else None
    if shape != "vector" or not isinstance(data.get("result"), list):
        raise PrometheusError(
            f"The query gives a {_words(shape) or 'strange answer'}, where one value a series is needed (a vector).",
            setting="query",
        )
    warnings = answer.get("warnings")
    spoken = [_words(entry) for entry in warnings[:MOST_WARNINGS]] if isinstance(warnings, list) else []
    series = list(_series(data["result"]))
    return Vector([labels for labels, _ in series], np.array([value for _, value in series], dtype=np.float64), spoken)


def _series(result: list[Any]) -> Iterator[tuple[dict[str, str], float]]:
    for entry in result:
        try:
            labels, (_, text) = entry["metric"], entry["value"]
            yield {str(name): str(value) for name, value in labels.items()}, float(text)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise PrometheusError("A series of the answer is not as Prometheus writes it.", setting="query") from None


def _words(text: object) -> str:
    """What the server says, fit to be shown: one short line without what looks like a secret."""
    if not isinstance(text, str):
        return ""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[:2000]).split())
    line = redact_text(line)
    return line if len(line) <= LONGEST_WORDS else f"{line[:LONGEST_WORDS]}…"


def _refusal(status: int, media_type: str) -> PrometheusError:
    if status in (401, 403):
        return PrometheusError(
            f"Prometheus does not accept the credentials ({status}): they are missing, wrong or have expired.",
            setting="credentials",
        )
    if 300 <= status < 400:
        return PrometheusError(
            f"The server sends the request elsewhere ({status}), which is not followed: give its final address."
        )
    if status == 404:
        return PrometheusError("The server has no /api/v1/query (404): is a path missing at the end of the address?")
    if status >= 400:
        return PrometheusError(f"The server answered with status {status}.")
    kind = media_type.partition(";")[0].strip()
    named = f" ({kind})" if kind and kind.isascii() and kind.isprintable() and len(kind) < 60 else ""
    return PrometheusError(f"The server answers, but not as Prometheus does{named}: check the address.")


def _line_error(error: httpx.HTTPError) -> PrometheusError:
    """What went wrong on the line, in words that say nothing of what is behind it."""
    reason: BaseException | None = error
    while reason is not None:
        if isinstance(reason, ssl.SSLCertVerificationError):
            return PrometheusError(
                "The server's certificate is not signed by the given certificate authority, "
                "or does not name this address.",
                setting="ca",
            )
        if isinstance(reason, ssl.SSLError):
            return PrometheusError("The server does not speak TLS as expected: is it http:// instead of https://?")
        reason = reason.__cause__ or reason.__context__
    if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError):
        return PrometheusError("Prometheus cannot be reached at its address.")
    if isinstance(error, httpx.TimeoutException):
        return PrometheusError("Prometheus did not answer in time.", setting="query")
    return PrometheusError("The connection to Prometheus broke off.")
