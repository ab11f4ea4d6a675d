"""Reasons why live schedulers must not call the extenders of a policy, without a DNS look-up.

A policy can be saved with any extender, since simulations and explanations call none. Before a live scheduler calls
one, live/schedulers/running/extending.py resolves its name and checks the address as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kschedweb.clusters.connecting.addresses import EXTENDERS, AddressError, Allowlist, server_split
from kschedweb.engine.json_types import Json
from kschedweb.web.errors import FieldProblem

# The verbs that kube-scheduler appends to urlPrefix.
VERBS = ("filterVerb", "prioritizeVerb", "preemptVerb", "bindVerb")
# A relative path without query, fragment or "..", so that a verb cannot lead to another address.
VERB = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
# Fields of tlsConfig that name files of kube-scheduler's machine.
FILES = ("caFile", "certFile", "keyFile")
INSECURE = "KSCHEDWEB_EXTENDER_ALLOW_INSECURE"


def list_refusals(extenders: Iterable[Json]) -> list[FieldProblem]:
    """List the reasons with paths such as ``extenders[0].urlPrefix``; empty if the operator allows all extenders."""
    return [
        {"path": f"extenders[{index}].{field}", "message": message}
        for index, extender in enumerate(extenders)
        for field, message in _check_extender(extender)
    ]


def _check_extender(extender: Json) -> Iterator[tuple[str, str]]:
    try:
        scheme, host, *_ = server_split(str(extender.get("urlPrefix") or ""))
        Allowlist(EXTENDERS.entries, EXTENDERS).expect_host(host)
    except AddressError as error:
        yield "urlPrefix", error.detail
    else:
        if scheme == "http" and not EXTENDERS.insecure:
            yield "urlPrefix", f"An extender is asked over https, unless whoever runs this sets {INSECURE}."
    for name in VERBS:
        if extender.get(name) and not VERB.fullmatch(str(extender[name])):
            yield name, "A verb is a part of a path: letters, digits, hyphens and dots, no ? or #."
    tls = extender.get("tlsConfig") or {}
    for name in FILES:
        if tls.get(name):
            yield f"tlsConfig.{name}", f"No file of this site is read: put the text into {name[:-4]}Data."
    if tls.get("insecure") and not EXTENDERS.insecure:
        yield "tlsConfig.insecure", f"The certificate is checked, unless whoever runs this sets {INSECURE}."
