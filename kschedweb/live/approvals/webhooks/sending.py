"""One try to hand over one message: to a checked address, once, without following where the receiver points."""

from __future__ import annotations

import ssl
import time
from contextlib import closing
from dataclasses import dataclass

from kschedweb import __version__
from kschedweb.clusters.connecting.addresses import Resolver, endpoint_check
from kschedweb.clusters.connecting.wire import Failure, Wire, WireError
from kschedweb.live.approvals.webhooks.messages import signature
from kschedweb.web.errors import ApplicationError

SECONDS, CONNECT_SECONDS = 10.0, 5.0  # for the whole try
LARGEST_ANSWER = 64 * 1024
JSON = "application/json"
CARRIES = "what the messages say"
WORDS = {
    Failure.UNREACHABLE: "It cannot be reached.",
    Failure.CERTIFICATE: "Its certificate cannot be verified.",
    Failure.TLS: "It does not speak TLS as expected.",
    Failure.SLOW: f"No answer within {SECONDS:.0f} s.",
    Failure.LARGE: "The connection broke off.",
    Failure.BROKEN: "The connection broke off.",
}


@dataclass(frozen=True)
class DeliveryResult:
    """How a try went; ``status`` is ``None`` where there was no answer at all."""

    status: int | None = None
    error: str = ""

    @property
    def ok(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def gone(self) -> bool:
        """The receiver wants no more messages."""
        return self.status == 410


def send(
    *, url: str, secret: str, message_id: str, body: str, kind: str = JSON, resolver: Resolver | None = None
) -> DeliveryResult:
    """Send ``body`` of the media type ``kind``, signed now, to ``url``."""
    try:
        checked = endpoint_check(url, carries=CARRIES, resolver=resolver)
    except ApplicationError as error:
        return DeliveryResult(error=error.detail)
    timestamp = int(time.time())
    headers = {
        "Host": checked.host_header,
        "User-Agent": f"kschedweb/{__version__}",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(secret, message_id, timestamp, body),
    }
    context = ssl.create_default_context() if checked.scheme == "https" else None
    with closing(Wire(checked, context, checked.host, headers, largest=LARGEST_ANSWER)) as wire:
        try:
            answer = wire.call("POST", "", body.encode(), kind, connect=CONNECT_SECONDS, seconds=SECONDS)
        except WireError as error:
            if error.code and error.failure in (Failure.SLOW, Failure.LARGE):
                return _answer(error.code)  # what follows the status is of no use here
            return DeliveryResult(error=WORDS[error.failure])
    return _answer(answer.code)


def _answer(status: int) -> DeliveryResult:
    if 200 <= status < 300:
        return DeliveryResult(status)
    if 300 <= status < 400:
        return DeliveryResult(status, f"It answered {status} and sends elsewhere, which is not followed.")
    return DeliveryResult(status, f"It answered {status}.")
