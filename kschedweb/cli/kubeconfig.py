"""The current context and namespace of kubectl; no other part of a kubeconfig is used, and none of its programs run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kschedweb.cli.exits import CommandError


@dataclass(frozen=True)
class Context:
    """``server`` is the address of the API server, by which the site knows the cluster too."""

    name: str
    cluster: str = ""
    server: str = ""
    namespace: str = ""


def context(environment: Mapping[str, str], name: str = "") -> Context:
    """The context ``name``, else the current one. Raises CommandError where there is none."""
    files = _files(environment)
    read = [_read(file) for file in files if file.is_file()]
    chosen = name or next((text for raw in read if (text := _text(raw, "current-context"))), "")
    if not chosen:
        raise CommandError("kubeconfig: has no current context: name a --context, or a --cluster of the site")
    found = _entry(read, "contexts", chosen, "context")
    if found is None:
        raise CommandError(f"kubeconfig: has no context {chosen}")
    cluster = _text(found, "cluster")
    server = _text(_entry(read, "clusters", cluster, "cluster") or {}, "server")
    return Context(chosen, cluster, server, _text(found, "namespace"))


def _files(environment: Mapping[str, str]) -> list[Path]:
    if listed := environment.get("KUBECONFIG", ""):
        return [Path(one) for one in listed.split(os.pathsep) if one]
    return [Path(environment.get("HOME") or "~").expanduser() / ".kube" / "config"]


def _read(path: Path) -> dict[str, Any]:
    import yaml

    try:
        raw = yaml.safe_load(path.read_bytes())
    except (OSError, yaml.YAMLError) as error:
        raise CommandError(f"kubeconfig: {path}: {getattr(error, 'strerror', None) or error}") from None
    return raw if isinstance(raw, dict) else {}


def _entry(read: list[dict[str, Any]], part: str, name: str, key: str) -> dict[str, Any] | None:
    """The first entry called ``name``, as kubectl merges its files."""
    for raw in read:
        listed = raw.get(part)
        for one in listed if isinstance(listed, list) else []:
            if isinstance(one, dict) and one.get("name") == name:
                found = one.get(key)
                return found if isinstance(found, dict) else {}
    return None


def _text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""
