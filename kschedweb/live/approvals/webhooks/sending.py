"""Send one message once, signed at that moment."""

from __future__ import annotations

import time

from kschedweb.clusters.connecting.addresses import Resolver
from kschedweb.clusters.connecting.messages import JSON, Posted, post_message
from kschedweb.live.approvals.webhooks.messages import sign_message

CARRIES = "what the messages say"


def send_message(
    *, url: str, secret: str, message_id: str, body: str, kind: str = JSON, resolver: Resolver | None = None
) -> Posted:
    """Send ``body`` of the media type ``kind`` to ``url``, signed now."""
    timestamp = int(time.time())
    headers = {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign_message(secret, message_id, timestamp, body),
    }
    return post_message(url, body, headers=headers, carries=CARRIES, kind=kind, resolver=resolver)
