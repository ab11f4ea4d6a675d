"""Read kubectl's current context and namespace. No other part of a kubeconfig is used, and none of its programs run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kschedweb.cli.exits import CommandError
from kschedweb.engine.json_types import Json


@dataclass(frozen=True)
class KubeContext:
    """A context of a kubeconfig."""

    name: str
    cluster: str = ""
    # The address of the API server, by which the site knows the cluster too.
    server: str = ""
    namespace: str = ""


def load_context(environment: Mapping[str, str], name: str = "") -> KubeContext:
    """Return the context ``name``, else the current one. Raise CommandError if there is none."""
    files = _list_files(environment)
    read = [_read_file(file) for file in files if file.is_file()]
    chosen = name or next((text for raw in read if (text := _get_text(raw, "current-context"))), "")
    if not chosen:
        raise CommandError("kubeconfig: has no current context: name a --context, or a --cluster of the site")
    entry = _find_entry(read, "contexts", chosen, "context")
    if entry is None:
        raise CommandError(f"kubeconfig: has no context {chosen}")
    cluster = _get_text(entry, "cluster")
    server = _get_text(_find_entry(read, "clusters", cluster, "cluster") or {}, "server")
    return KubeContext(chosen, cluster, server, _get_text(entry, "namespace"))


def _list_files(environment: Mapping[str, str]) -> list[Path]:
    if listed := environment.get("KUBECONFIG", ""):
        return [Path(path) for path in listed.split(os.pathsep) if path]
    return [Path(environment.get("HOME") or "~").expanduser() / ".kube" / "config"]


def _read_file(path: Path) -> Json:
    import yaml

    try:
        raw = yaml.safe_load(path.read_bytes())
    except (OSError, yaml.YAMLError) as error:
        raise CommandError(f"kubeconfig: {path}: {getattr(error, 'strerror', None) or error}") from None
    return raw if isinstance(raw, dict) else {}


def _find_entry(read: list[Json], part: str, name: str, key: str) -> Json | None:
    """Return the first entry called ``name``: kubectl merges its files so that the first one wins."""
    for raw in read:
        listed = raw.get(part)
        for entry in listed if isinstance(listed, list) else []:
            if isinstance(entry, dict) and entry.get("name") == name:
                content = entry.get(key)
                return content if isinstance(content, dict) else {}
    return None


def _get_text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""
