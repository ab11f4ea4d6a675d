"""One try to hand over one message: to a checked address, once, without following where the receiver points."""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass

import httpx

from kschedweb import __version__
from kschedweb.clusters.connecting.addresses import Resolver, endpoint_check
from kschedweb.live.approvals.webhooks.messages import signature
from kschedweb.web.errors import ApplicationError

SECONDS = 10.0  # for the whole try
LARGEST_ANSWER = 64 * 1024
CARRIES = "what the messages say"


@dataclass(frozen=True)
class Answer:
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


def send(*, url: str, secret: str, message_id: str, body: str, resolver: Resolver | None = None) -> Answer:
    """Send ``body``, signed now, to ``url``."""
    try:
        checked = endpoint_check(url, carries=CARRIES, resolver=resolver)
    except ApplicationError as error:
        return Answer(error=error.detail)
    timestamp = int(time.time())
    headers = {
        "Host": checked.host_header,
        "User-Agent": f"kschedweb/{__version__}",
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(secret, message_id, timestamp, body),
    }
    context: ssl.SSLContext | bool = ssl.create_default_context() if checked.scheme == "https" else False
    transport = httpx.HTTPTransport(verify=context, trust_env=False)
    until = time.monotonic() + SECONDS
    try:
        with (
            httpx.Client(transport=transport, follow_redirects=False, trust_env=False, timeout=SECONDS / 2) as client,
            client.stream(
                "POST",
                checked.url,
                content=body.encode(),
                headers=headers,
                extensions={"sni_hostname": checked.host},
            ) as response,
        ):
            size = 0
            for chunk in response.iter_raw():  # read, so that the receiver can finish; of no further use
                size += len(chunk)
                if size > LARGEST_ANSWER or time.monotonic() > until:
                    break
            return _answer(response.status_code)
    except httpx.TimeoutException:
        return Answer(error=f"No answer within {SECONDS:.0f} s.")
    except (httpx.HTTPError, ssl.SSLError) as error:
        return Answer(error=_words(error))


def _answer(status: int) -> Answer:
    if 200 <= status < 300:
        return Answer(status)
    if 300 <= status < 400:
        return Answer(status, f"It answered {status} and sends elsewhere, which is not followed.")
    return Answer(status, f"It answered {status}.")


def _words(error: BaseException) -> str:
    reason: BaseException | None = error
    while reason is not None:
        if isinstance(reason, ssl.SSLCertVerificationError):
            return "Its certificate cannot be verified."
        if isinstance(reason, ssl.SSLError):
            return "It does not speak TLS as expected."
        reason = reason.__cause__ or reason.__context__
    return "It cannot be reached." if isinstance(error, httpx.ConnectError) else "The connection broke off."
