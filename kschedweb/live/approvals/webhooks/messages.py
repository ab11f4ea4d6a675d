"""The content of messages, their signature, and sending one: headers and HMAC of Standard Webhooks, in both formats.

The receiver computes the HMAC-SHA256 of ``<webhook-id>.<webhook-timestamp>.<raw body>`` under the decoded secret, and
compares it with the part after ``v1,`` in ``webhook-signature``.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from dataclasses import dataclass
from datetime import datetime

from kschedweb.clusters.connecting.addresses import Resolver
from kschedweb.clusters.connecting.messages import JSON, Posted, post_message
from kschedweb.engine.json_types import Json
from kschedweb.live.approvals.models import ApprovalRequest, MessageFormat, WebhookEvent
from kschedweb.web.links import build_link

PREFIX = "whsec_"
CARRIES = "what the messages say"
SECRET_BYTES = 32
# Prefix of event names in CloudEvents, whose types must be unique among all programs.
TYPES = "dev.kschedweb."
CONTENT_TYPES = {
    MessageFormat.STANDARD: "application/json",
    MessageFormat.CLOUDEVENTS: "application/cloudevents+json; charset=utf-8",
}


def new_secret() -> str:
    """Return a secret as receivers' libraries expect it: ``whsec_`` and 32 random bytes in base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def sign_message(secret: str, message_id: str, timestamp: int, body: str) -> str:
    """Return the header webhook-signature of a message sent at ``timestamp`` (seconds of the epoch)."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.new(key, f"{message_id}.{timestamp}.{body}".encode(), hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


@dataclass(frozen=True)
class WebhookMessage:
    """The content of a message."""

    event: str
    at: datetime
    data: Json
    # CloudEvents' attributes: where it happened, and to what.
    source: str = "/"
    subject: str = ""

    def render_body(self, form: str, message_id: str) -> str:
        """Return the message exactly as it is signed and sent."""
        document: Json = {"type": self.event, "timestamp": self.at.isoformat(), "data": self.data}
        if form == MessageFormat.CLOUDEVENTS:
            document = {
                "specversion": "1.0",
                "id": message_id,
                "source": self.source,
                "type": TYPES + self.event,
                "time": self.at.isoformat(),
                "datacontenttype": "application/json",
                "data": self.data,
                **({"subject": self.subject} if self.subject else {}),
            }
        # Sorted and compact: the body is stored once and must not change between tries, or the signature would.
        return json.dumps(document, separators=(",", ":"), sort_keys=True)


def describe_request(row: ApprovalRequest) -> Json:
    """Return the data of a message about a request."""
    return {
        "id": str(row.pk),
        "cluster": row.scheduler.cluster.name,
        "scheduler": row.scheduler.scheduler_name,
        "namespace": row.namespace,
        "pod": row.name,
        "uid": row.uid,
        "node": row.node,
        "state": row.state,
        "approvals": row.ask.get("approvals", []),
        "why": row.ask.get("why", []),
        "rule": ", ".join(row.ask.get("rules", [])),
        "reason": row.reason or row.ask.get("reason", ""),
        "onTimeout": row.ask.get("onTimeout", "Deny"),
        "askedAt": row.asked_at.isoformat(),
        "expiresAt": row.expires_at.isoformat(),
        "decidedBy": row.decided_by,
        "links": {
            "page": build_link(f"/approvals/{row.pk}/"),
            "approve": build_link(f"/api/v1/approvals/{row.pk}/approve/"),
            "deny": build_link(f"/api/v1/approvals/{row.pk}/deny/"),
        },
    }


def test_data() -> Json:
    """Return the data of a test message."""
    return {
        "message": "This is a test: nothing waits.",
        "events": [str(event) for event in WebhookEvent if event != "test"],
    }


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
