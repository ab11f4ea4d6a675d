"""Instant queries to Prometheus, or to servers with its HTTP API (Thanos, Mimir, VictoriaMetrics).

All queries of a run share one deadline, and a few run at a time. An invalid answer makes only its own query fail.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from kschedweb import __version__
from kschedweb.clusters.connecting.addresses import CheckedEndpoint
from kschedweb.clusters.connecting.client import tls_context
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.clusters.connecting.wire import Failure, Wire, WireError, WireResponse
from kschedweb.web.errors import ApplicationError
from kschedweb.web.redaction import redact_text

# Seconds.
CONNECT_SECONDS = 5.0
# Queries at a time, so that a run does not slow Prometheus down.
TOGETHER = 4
# Bytes, before and after decompression.
LARGEST_BODY = 64 * 1024 * 1024
# Characters of the server's message that are shown.
LONGEST_WORDS = 300
MOST_WARNINGS = 5
PARTIAL = "The answer is partial: some of the server's storage nodes did not answer, so series may be missing."


class PrometheusError(ApplicationError):
    """Prometheus did not answer correctly. ``setting`` is the setting to check; "query" is the query."""

    status = 502

    def __init__(self, message: str, *, setting: str = "address") -> None:
        super().__init__(message, errors=[{"path": setting, "message": message}])
        self.setting = setting


@dataclass(frozen=True)
class Vector:
    """The answer to one instant query."""

    labels: list[dict[str, str]]
    # One for each series, with NaN and infinities.
    values: NDArray[np.float64]
    # Prometheus' own words.
    warnings: list[str] = field(default_factory=list)
    # Seconds by which the server's clock is ahead of ours.
    skew: float = 0.0


Answers = dict[str, "Vector | PrometheusError"]


def run_queries(
    endpoint: CheckedEndpoint, secret: Secret, queries: Mapping[str, str], *, at: float, seconds: float
) -> Answers:
    """Return the answer or the error of each of ``queries`` at the time ``at`` (seconds of the epoch).

    Queries without an answer after ``seconds`` have failed. Raises ``ApplicationError`` for an invalid certificate
    authority.
    """
    context = tls_context(secret) if endpoint.scheme == "https" else None
    headers = {"Host": endpoint.host_header, "User-Agent": f"kschedweb/{__version__}", "Accept-Encoding": "gzip"}
    wire = Wire(endpoint, context, endpoint.host, headers | secret.authorization, largest=LARGEST_BODY)
    deadline = time.monotonic() + seconds

    def run_query(query: str) -> Vector | PrometheusError:
        try:
            return _run_query(wire, query, at, deadline)
        except PrometheusError as error:
            return error
        except WireError as error:
            return _wire_error(error, seconds)

    with closing(wire), ThreadPoolExecutor(TOGETHER, thread_name_prefix="prometheus") as pool:
        return dict(zip(queries, pool.map(run_query, queries.values()), strict=True))


def _run_query(wire: Wire, query: str, at: float, deadline: float) -> Vector:
    remaining = max(deadline - time.monotonic(), 0.1)
    parameters = urlencode({"query": query, "time": f"{at:.3f}", "timeout": f"{remaining:.3f}"})
    sent_at = time.time()
    answer = wire.call("GET", f"/api/v1/query?{parameters}", connect=min(CONNECT_SECONDS, remaining), seconds=remaining)
    vector = vector_read(answer.code, answer.headers.get("content-type", ""), _decompress_body(answer))
    return Vector(vector.labels, vector.values, vector.warnings, clock_skew(answer.headers.get("date", ""), sent_at))


def _decompress_body(answer: WireResponse) -> bytes:
    if answer.headers.get("content-encoding", "").lower() != "gzip":
        return answer.body
    try:
        body = zlib.decompressobj(wbits=31).decompress(answer.body, LARGEST_BODY + 1)
    except zlib.error:
        raise PrometheusError("The connection to Prometheus broke off.") from None
    if len(body) > LARGEST_BODY:
        raise _too_large()
    return body


def clock_skew(date: str, sent_at: float) -> float:
    """Return the seconds by which the ``Date`` of an answer is outside the time between query and now."""
    try:
        server_time = parsedate_to_datetime(date).timestamp()
    except ValueError:
        return 0.0
    return server_time - min(max(server_time, sent_at), time.time())


def vector_read(status: int, media_type: str, body: bytes) -> Vector:
    """Return the vector in an answer. Raises ``PrometheusError`` with Prometheus' own message if there is one."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    is_answer = isinstance(answer, dict) and answer.get("status") in ("success", "error")
    if is_answer and answer["status"] == "error":
        kind, words = _clean_message(answer.get("errorType")), _clean_message(answer.get("error"))
        raise PrometheusError(f"Prometheus says: {words or 'an error'}{f' ({kind})' if kind else ''}", setting="query")
    if status >= 300 or not is_answer:
        raise _status_error(status, media_type)
    data = answer.get("data")
    shape = data.get("resultType") if isinstance(data, dict) else None
    if shape != "vector" or not isinstance(data.get("result"), list):
        raise PrometheusError(
            f"The query gives a {_clean_message(shape) or 'strange answer'}, "
            "where one value a series is needed (a vector).",
            setting="query",
        )
    warnings = answer.get("warnings")
    spoken = [_clean_message(entry) for entry in warnings[:MOST_WARNINGS]] if isinstance(warnings, list) else []
    # VictoriaMetrics: a part of its storage did not answer.
    if answer.get("isPartial") is True:
        spoken.insert(0, PARTIAL)
    series = list(_parse_series(data["result"]))
    return Vector([labels for labels, _ in series], np.array([value for _, value in series], dtype=np.float64), spoken)


def _parse_series(result: list[Any]) -> Iterator[tuple[dict[str, str], float]]:
    for entry in result:
        try:
            labels, (_, text) = entry["metric"], entry["value"]
            yield {str(name): str(value) for name, value in labels.items()}, float(text)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise PrometheusError("A series of the answer is not as Prometheus writes it.", setting="query") from None


def _clean_message(text: object) -> str:
    """Return the server's message in displayable form: one short line without secrets."""
    if not isinstance(text, str):
        return ""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[:2000]).split())
    line = redact_text(line)
    return line if len(line) <= LONGEST_WORDS else f"{line[:LONGEST_WORDS]}…"


def _status_error(status: int, media_type: str) -> PrometheusError:
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
    kind_note = f" ({kind})" if kind and kind.isascii() and kind.isprintable() and len(kind) < 60 else ""
    return PrometheusError(f"The server answers, but not as Prometheus does{kind_note}: check the address.")


def _wire_error(error: WireError, seconds: float) -> PrometheusError:
    """Return the error for a failed connection. It reveals nothing about what is behind the address."""
    match error.failure:
        case Failure.CERTIFICATE:
            return PrometheusError(
                "The server's certificate is not signed by the given certificate authority, "
                "or does not name this address.",
                setting="ca",
            )
        case Failure.TLS:
            return PrometheusError("The server answers without TLS: is it http:// instead of https://?")
        case Failure.LARGE:
            return _too_large()
        case Failure.SLOW if error.reached:
            return PrometheusError(f"Prometheus did not answer within {seconds:.0f} s.", setting="query")
        case Failure.BROKEN:
            return PrometheusError("The connection to Prometheus broke off.")
    return PrometheusError("Prometheus cannot be reached at its address.")


def _too_large() -> PrometheusError:
    return PrometheusError(
        f"The answer is larger than {LARGEST_BODY // 1024 // 1024} MiB: let the query give one series a node or a pod.",
        setting="query",
    )
