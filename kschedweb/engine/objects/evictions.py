"""Evictions of policy/v1, as objects and as lines for a shell. The eviction API checks disruption budgets."""

from __future__ import annotations

import json
import shlex

from kschedweb.engine.json_types import Json


def make_eviction(pod: str) -> Json:
    """Return the Eviction of the pod ``namespace/name``."""
    namespace, _, name = pod.partition("/")
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}


def kubectl_line(pod: str) -> str:
    """Return a shell command that evicts the pod ``namespace/name``, quoted for any name."""
    namespace, _, name = pod.partition("/")
    body = json.dumps(make_eviction(pod), separators=(",", ":"))
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
    return f"echo {shlex.quote(body)} | kubectl create --raw {shlex.quote(path)} -f -"
