"""Call the extenders of a policy over HTTP, at addresses in the operator's allowlist for extenders.

The engine's own transport is for the command line. Here only allowed addresses may be called, and a policy cannot
make this machine read its files.
"""

from __future__ import annotations

import base64
import binascii
import ssl
from collections.abc import Iterable

from kschedweb.clusters.connecting.addresses import EXTENDERS, AddressError, CheckedEndpoint, endpoint_check
from kschedweb.clusters.connecting.client import tls_context
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.clusters.connecting.wire import Failure, Wire, WireError
from kschedweb.engine.extenders.extender import Post, TransportError
from kschedweb.engine.json_types import Json
from kschedweb.policies.extenders import list_refusals
from kschedweb.web.errors import ApplicationError, FieldProblem, Unprocessable

# Bytes. Filter results of some 5,000 nodes stay far below.
LARGEST_ANSWER = 64 * 1024 * 1024
# The words of Go's http.Client for a timeout.
TIMED_OUT = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"


def make_transport(extenders: Iterable[Json]) -> Post:
    """Return a function that posts to these extenders. Raise Unprocessable with the path of each forbidden one.

    It opens no connection yet: the same check runs when a live scheduler is saved.
    """
    listed = list(extenders)
    problems = list_refusals(listed)
    ways: dict[str, _ExtenderTransport] = {}
    for index, extender in enumerate(listed if not problems else ()):
        try:
            ways[str(extender["urlPrefix"]).rstrip("/")] = _ExtenderTransport(extender)
        except ApplicationError as error:
            field = "urlPrefix" if isinstance(error, AddressError) else "tlsConfig"
            problems.append(FieldProblem(path=f"extenders[{index}].{field}", message=error.detail))
    if problems:
        message = "; ".join(f"{problem['path']}: {problem['message']}" for problem in problems)
        raise Unprocessable(f"The policy has an extender that may not be asked. {message}", errors=problems)

    def post_to_extender(url: str, body: bytes, seconds: float) -> tuple[int, bytes]:
        for prefix, way in ways.items():
            if url.startswith(f"{prefix}/"):
                return way.post(url[len(prefix) :], body, seconds)
        raise TransportError(f"{url} belongs to no extender of this policy")

    return post_to_extender


class _ExtenderTransport:
    """The transport to one extender. Its address is resolved and checked once, and that result is used from then on."""

    def __init__(self, extender: Json) -> None:
        tls = extender.get("tlsConfig") or {}
        prefix = str(extender["urlPrefix"])
        # Resolving only once also keeps a changed DNS answer from leading to an address that was not checked.
        self._endpoint: CheckedEndpoint = endpoint_check(prefix.rstrip("/"), rule=EXTENDERS)
        context = _tls_context(tls, prefix) if self._endpoint.scheme == "https" else None
        name = tls.get("serverName") or self._endpoint.host
        self._wire = Wire(self._endpoint, context, name, {"Host": self._endpoint.host_header}, largest=LARGEST_ANSWER)

    def post(self, path: str, body: bytes, seconds: float) -> tuple[int, bytes]:
        try:
            answer = self._wire.call("POST", path, body, "application/json", connect=seconds, seconds=seconds)
        except WireError as error:
            if error.failure is Failure.LARGE:
                raise TransportError("the answer is larger than any extender's would be") from None
            reason = TIMED_OUT if error.failure is Failure.SLOW else type(error.__cause__).__name__
            raise TransportError(reason) from None
        return answer.code, answer.body


def _tls_context(tls: Json, server: str) -> ssl.SSLContext:
    """Return the TLS context of an extender. Its certificates are texts in base64, never paths of files."""
    try:
        ca, certificate, key = (
            base64.b64decode(tls.get(name) or "", validate=True).decode("ascii")
            for name in ("caData", "certData", "keyData")
        )
    except (binascii.Error, UnicodeDecodeError):
        raise ApplicationError("An extender's caData, certData or keyData is not base64 of a PEM text.") from None
    context = tls_context(Secret(server=server, ca=ca, client_certificate=certificate, client_key=key))
    if tls.get("insecure"):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
