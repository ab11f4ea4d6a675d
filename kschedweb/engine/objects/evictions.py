"""An Eviction of policy/v1, as an object and as a line for a shell. The eviction API asks disruption budgets."""

from __future__ import annotations

import json
import shlex

from kschedweb.engine.objects.json_access import Json


def make_eviction(pod: str) -> Json:
    """The Eviction of the pod ``namespace/name``."""
    namespace, _, name = pod.partition("/")
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}


def kubectl_line(pod: str) -> str:
    """What evicts the pod ``namespace/name`` in a shell, whatever stands in its name."""
    namespace, _, name = pod.partition("/")
    body = json.dumps(make_eviction(pod), separators=(",", ":"))
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
    return f"echo {shlex.quote(body)} | kubectl create --raw {shlex.quote(path)} -f -"
