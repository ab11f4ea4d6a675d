"""Sends one message to a server that is not a cluster: to a checked address, once, without following redirects."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from kschedweb import __version__
from kschedweb.clusters.connecting.addresses import CLUSTERS, AddressRule, Resolver, endpoint_check
from kschedweb.clusters.connecting.wire import Failure, Wire, WireError
from kschedweb.web.errors import ApplicationError

# Seconds for the whole call, and to connect.
SECONDS, CONNECT_SECONDS = 10.0, 5.0
LARGEST_ANSWER = 64 * 1024
JSON = "application/json"
WORDS = {
    Failure.UNREACHABLE: "It cannot be reached.",
    Failure.CERTIFICATE: "Its certificate cannot be verified.",
    Failure.TLS: "It does not answer with TLS.",
    Failure.SLOW: f"No answer within {SECONDS:.0f} s.",
    Failure.LARGE: "The connection broke off.",
    Failure.BROKEN: "The connection broke off.",
}


@dataclass(frozen=True)
class Posted:
    """The outcome of a message."""

    # None if there was no answer at all.
    status: int | None = None
    # Why it failed, in words for people; "" if it did not.
    error: str = ""

    @property
    def ok(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def wants_no_more(self) -> bool:
        """True if the receiver wants no more messages (410 Gone)."""
        return self.status == 410


def post_message(
    url: str,
    body: str,
    *,
    headers: Mapping[str, str],
    carries: str,
    kind: str = JSON,
    rule: AddressRule = CLUSTERS,
    resolver: Resolver | None = None,
) -> Posted:
    """Send ``body`` of the media type ``kind`` to ``url``, which ``rule`` has to allow."""
    try:
        checked = endpoint_check(url, carries=carries, rule=rule, resolver=resolver)
    except ApplicationError as error:
        return Posted(error=error.detail)
    all_headers = {"Host": checked.host_header, "User-Agent": f"kschedweb/{__version__}", **headers}
    context = ssl.create_default_context() if checked.scheme == "https" else None
    with closing(Wire(checked, context, checked.host, all_headers, largest=LARGEST_ANSWER)) as wire:
        try:
            answer = wire.call("POST", "", body.encode(), kind, connect=CONNECT_SECONDS, seconds=SECONDS)
        except WireError as error:
            if error.code and error.failure in (Failure.SLOW, Failure.LARGE):
                # The status is all that counts; the rest of the answer is not needed.
                return _posted_from_status(error.code)
            return Posted(error=WORDS[error.failure])
    return _posted_from_status(answer.code)


def _posted_from_status(status: int) -> Posted:
    if 200 <= status < 300:
        return Posted(status)
    if 300 <= status < 400:
        return Posted(status, f"It answered {status} and sends elsewhere, which is not followed.")
    return Posted(status, f"It answered {status}.")
