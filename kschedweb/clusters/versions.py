"""The version of Kubernetes that an imported cluster runs: what somebody says, what files say, or a guess."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kschedweb.engine.releases import parse_minor
from kschedweb.web.errors import ApplicationError

LONGEST = 64


class ClusterVersion(NamedTuple):
    """A version such as ``v1.34.1``, "" if unknown, and whether it is guessed from kubelets."""

    text: str
    guessed: bool = False


def parse_version(text: str) -> str:
    """Return ``text`` as the API server writes it: 1.34 becomes v1.34. Raises ApplicationError at ``version``."""
    text = text.strip()
    if not text:
        return ""
    if not parse_minor(text) or len(text) > LONGEST or not text.isprintable():
        raise ApplicationError.at("version", "Write the version of Kubernetes as 1.34 or v1.34.1.")
    return text if text.startswith("v") else f"v{text}"


def stated_version(document: dict[str, Any]) -> str:
    """Return the API server's version in what `kubectl version -o json` or its address /version says, else ""."""
    server = document.get("serverVersion", document)
    text = server.get("gitVersion") if isinstance(server, dict) else None
    return text[:LONGEST] if isinstance(text, str) and parse_minor(text) else ""


def guess_version(objects: Iterable[dict[str, Any]]) -> ClusterVersion:
    """Return the lowest version of the kubelets, which an API server may not be older than."""
    kubelets = [text for raw in objects if raw.get("kind") == "Node" and (text := _kubelet_version(raw))]
    lowest = min(kubelets, key=_in_order, default="")
    return ClusterVersion(lowest[:LONGEST], guessed=bool(lowest))


def _kubelet_version(node: dict[str, Any]) -> str:
    info = (node.get("status") or {}).get("nodeInfo")
    text = info.get("kubeletVersion") if isinstance(info, dict) else None
    return text if isinstance(text, str) and parse_minor(text) else ""


def _in_order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in parse_minor(version).split("."))
