"""The version of Kubernetes of a cluster in a dump: as its documents say, or a guess."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import parse_minor

LONGEST = 64


class ClusterVersion(NamedTuple):
    """A version of Kubernetes, and how sure it is."""

    # Such as "v1.34.1"; "" if unknown.
    text: str
    # True if it is guessed from kubelets.
    guessed: bool = False


def stated_version(document: Json) -> str:
    """Return the API server's version in the output of `kubectl version -o json` or of /version; else ""."""
    server = document.get("serverVersion", document)
    text = server.get("gitVersion") if isinstance(server, dict) else None
    return text[:LONGEST] if isinstance(text, str) and parse_minor(text) else ""


def guess_version(objects: Iterable[Json]) -> ClusterVersion:
    """Return the lowest version of the kubelets. No kubelet may be newer than its API server."""
    kubelets = [text for raw in objects if raw.get("kind") == "Node" and (text := _kubelet_version(raw))]
    lowest = min(kubelets, key=_in_order, default="")
    return ClusterVersion(lowest[:LONGEST], guessed=bool(lowest))


def _kubelet_version(node: Json) -> str:
    info = (node.get("status") or {}).get("nodeInfo")
    text = info.get("kubeletVersion") if isinstance(info, dict) else None
    return text if isinstance(text, str) and parse_minor(text) else ""


def _in_order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in parse_minor(version).split("."))
