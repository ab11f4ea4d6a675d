"""What ``kschedweb mcp`` offers to language models: each tool reads, with the rights of the token's person."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kschedweb.cli.asked import MOST_CLUSTERS, PATIENCE, Surroundings, named, until
from kschedweb.cli.commands import explain
from kschedweb.cli.exits import CommandError, Exit

Json = dict[str, Any]
MOST = 100  # rows of a list
NODES = 20  # feasible nodes of a decision: the best
CLUSTER = {"type": "string", "description": "Its name, from list_clusters."}
POLICY = {"type": "string", "description": "A saved policy as name or name@revision; default without it."}


@dataclass(frozen=True)
class Tool:
    """``needed`` are the names of the properties that must be given; ``call`` gets all of them."""

    description: str
    properties: dict[str, Json]
    call: Callable[[Surroundings, Json], Any]
    needed: tuple[str, ...] = ()

    @property
    def schema(self) -> Json:
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.needed),
            "additionalProperties": False,
        }

    def checked(self, given: Any) -> Json:
        """The arguments of a call. Raises CommandError."""
        if not isinstance(given, dict):
            raise CommandError("arguments: must be an object")
        if missing := [name for name in self.needed if name not in given]:
            raise CommandError(f"{missing[0]}: is missing")
        kinds: dict[str, tuple[type, str]] = {"string": (str, "text"), "object": (dict, "an object")}
        for name, value in given.items():
            if name not in self.properties:
                raise CommandError(f"{name}: is unknown; known are {', '.join(self.properties)}")
            kind, word = kinds[self.properties[name]["type"]]
            if not isinstance(value, kind):
                raise CommandError(f"{name}: must be {word}")
        return given


def _clusters(around: Surroundings, _: Json) -> Any:
    keys = ("name", "release", "counts", "taken_at")
    return [{key: one[key] for key in keys} for one in around.server.listed("clusters", most=MOST_CLUSTERS)]


def _pending(around: Surroundings, given: Json) -> Any:
    asking = {"pending": "true", "namespace": given.get("namespace")}
    keys = ("namespace", "name", "scheduler_name", "priority", "cpu_request", "memory_request", "gated", "message")
    found = around.server.listed("clusters", given["cluster"], "pods", most=MOST, **asking)
    waits = {one["uid"]: one for one in _waiting(around, given)}
    return [
        {key: one[key] for key in keys}
        | ({"waits_for_approval": _approval(waits[one["uid"]])} if one["uid"] in waits else {})
        for one in found
    ]


def _explain(around: Surroundings, given: Json) -> Any:
    return _short(_decided(around, given, given.get("policy", "")))


def _compare(around: Surroundings, given: Json) -> Any:
    """A pod under two policies; without a pod, all pending ones, by their reasons."""
    sides = {}
    for name in ("baseline", "policy"):
        if given.get("pod"):
            sides[name] = _short(_decided(around, given, given[name]))
        else:
            asked = named(given[name])
            asking = {"policy": asked["name"], "revision": asked.get("revision")}
            sides[name] = _ready(around, around.server.get("clusters", given["cluster"], "decisions", **asking))
    return sides


def _fit(around: Surroundings, given: Json) -> Any:
    body: Json = {"cluster": given["cluster"]}
    body["pod"] = {"requests": given["requests"]} if "requests" in given else {"workload": given.get("pod", "")}
    if given.get("policy"):
        asked = named(given["policy"])
        body |= {"policy": asked["name"], **({"revision": asked["revision"]} if "revision" in asked else {})}
    answer = around.server.post("capacity", "fit", body=body)
    if answer.status != 202:
        return answer.body
    number = str(answer.body["id"])

    def look() -> Any:
        found = around.server.get("capacity", "answers", number).body
        return found if found["state"] in explain.ENDED else None

    found = until(look, PATIENCE)
    if not found.get("fit"):
        raise CommandError(f"the job {found['state']}: {found['error']}", Exit.UNREACHABLE)
    return found["fit"]


def _approvals(around: Surroundings, given: Json) -> Any:
    return [_approval(one) for one in _waiting(around, given)]


def _waiting(around: Surroundings, given: Json) -> Any:
    """The requests for approval that people may decide now."""
    asking = {"state": "waiting", "cluster": given.get("cluster"), "namespace": given.get("namespace")}
    return around.server.listed("approvals", most=MOST, **asking)


def _approval(request: Json) -> Json:
    keys = ("id", "cluster", "namespace", "name", "node", "why", "approvals", "missing", "asked_at", "expires_at")
    return {key: request[key] for key in keys}


def _decided(around: Surroundings, given: Json, policy: str) -> Json:
    namespace, slash, name = given["pod"].partition("/")
    if not slash or not name:
        raise CommandError("pod: must be namespace/name")
    options = argparse.Namespace(policy=policy, release="", feature_gates="", wait=PATIENCE)
    return explain.asked(around, given["cluster"], namespace, name, options)


def _ready(around: Surroundings, answer: Any) -> Any:
    if answer.status == 202:
        raise CommandError("this cluster is too large to judge all pods at once: name a pod")
    return answer.body


def _short(answer: Json) -> Json:
    """A decision without what a reader of words has no use for: the verdict of each filter on each node."""
    total = answer.get("total") or {}
    best = sorted(total, key=lambda node: -total[node])[:NODES]
    keys = (
        "pod", "status", "scheduler", "approval", "policy", "revision", "release", "bound_to", "chosen", "message",
        "post_filter", "asks", "warnings",
    )  # fmt: skip
    verdicts = [{**one, "nodes": one["nodes"][:NODES]} for one in answer.get("verdicts") or []]
    return {
        **{key: answer[key] for key in keys if answer.get(key) not in (None, "", [])},
        "feasible_nodes": len(total),
        "best_nodes": {node: total[node] for node in best},
        "scores_of_chosen": _scores(answer),
        "rejected": verdicts,
    }


def _scores(answer: Json) -> Json:
    chosen = answer.get("chosen")
    scores = answer.get("scores") or {}
    return {plugin: one["weight"] * one["normalized"][chosen] for plugin, one in scores.items()} if chosen else {}


POD = {"type": "string", "description": "namespace/name"}
TOOLS: dict[str, Tool] = {
    "list_clusters": Tool("The clusters that the person may see, with numbers of nodes and pods.", {}, _clusters),
    "list_pending": Tool(
        f"The pending pods of a cluster with the scheduler's messages and the approvals they wait for, at most {MOST}.",
        {"cluster": CLUSTER, "namespace": {"type": "string", "description": "Of all without it."}},
        _pending,
        ("cluster",),
    ),
    "explain_pod": Tool(
        "Why a pod goes to its node, or to none: the nodes that fit with their scores, and the others by reason; "
        "whether it waits for approval, and which scheduler handles it.",
        {"cluster": CLUSTER, "pod": POD, "policy": POLICY},
        _explain,
        ("cluster", "pod"),
    ),
    "compare_policies": Tool(
        "The decisions of two policies about the same pod, or about all pending pods of a cluster.",
        {"cluster": CLUSTER, "baseline": POLICY, "policy": POLICY, "pod": POD},
        _compare,
        ("cluster", "baseline", "policy"),
    ),
    "capacity": Tool(
        "How many more pods of a kind fit into a cluster, and what keeps further ones out.",
        {
            "cluster": CLUSTER,
            "requests": {"type": "object", "description": "Of one pod, such as {cpu: 500m, memory: 1Gi}."},
            "pod": {"type": "string", "description": "In place of requests: namespace/name of one to copy."},
            "policy": POLICY,
        },
        _fit,
        ("cluster",),
    ),
    "list_approvals": Tool(
        "The pods that wait for a person's approval. Only a person decides.",
        {"cluster": CLUSTER},
        _approvals,
    ),
}
