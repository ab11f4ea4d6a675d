"""Tools about causes, nodes, groups, history, and what should move, grow or shrink: each one only reads."""

from __future__ import annotations

from typing import Any

from kschedweb.cli.commands.tool import CLUSTER, POD, POLICY, ROWS, Tool, split_key
from kschedweb.cli.exits import CommandError, Exit
from kschedweb.cli.session import CliSession, parse_policy_reference, wait_for_result
from kschedweb.engine.json_types import Json

ENDED = ("succeeded", "failed", "cancelled")
# Names that an answer lists of pods with one cause.
NAMES = 10


def _policy_filters(arguments: Json) -> Json:
    reference = parse_policy_reference(arguments["policy"]) if arguments.get("policy") else {}
    return {"policy": reference.get("name"), "revision": reference.get("revision")}


def _await_question(session: CliSession, answer: Any, *path: str, field: str) -> Any:
    """Return the answer, or ``field`` of the job's once that has ended. Raise CommandError."""
    if answer.status != 202:
        return answer.body
    number = str(answer.body["id"])

    def poll() -> Any:
        question = session.server.get(*path, number).body
        return question if question["state"] in ENDED else None

    question = wait_for_result(poll, session.patience)
    if not question.get(field):
        reason = question.get("error") or "it has no answer"
        raise CommandError(f"the job {question['state']}: {reason}", Exit.UNREACHABLE)
    return question[field]


def _list_causes(session: CliSession, arguments: Json) -> Any:
    """Return the pending pods of a cluster by cause, each cause with what would let its first pod run."""
    filters = _policy_filters(arguments)
    answer = session.server.get("clusters", arguments["cluster"], "decisions", **filters)
    return [
        {
            "kind": group["kind"],
            "reasons": group["reasons"],
            "count": len(group["pods"]),
            "pods": [pod["pod"] for pod in group["pods"][:NAMES]],
            "fixes": [fix["sentence"] for fix in group["fixes"]],
            "device_chains": group["device_chains"],
        }
        for group in answer.body["groups"]
    ]


def _explain_node(session: CliSession, arguments: Json) -> Any:
    filters = {**_policy_filters(arguments), "places": "true"}
    answer = session.server.get("clusters", arguments["cluster"], "nodes", arguments["node"], "report", **filters)
    report = dict(_await_question(session, answer, "decisions", "questions", field="answer"))
    return report | {"pods": report["pods"][:ROWS]} if isinstance(report.get("pods"), list) else report


def _list_groups(session: CliSession, arguments: Json) -> Any:
    answer = session.server.get("clusters", arguments["cluster"], "podgroups")
    return _await_question(session, answer, "decisions", "questions", field="answer")


def _explain_group(session: CliSession, arguments: Json) -> Any:
    namespace, name = split_key(arguments["group"], "group")
    path = ("clusters", arguments["cluster"], "podgroups", namespace, name)
    answer = session.server.get(*path, **_policy_filters(arguments))
    return _await_question(session, answer, "decisions", "questions", field="answer")


def _tell_history(session: CliSession, arguments: Json) -> Any:
    namespace, name = split_key(arguments["pod"], "pod")
    path = ("clusters", arguments["cluster"], "history", namespace, name)
    return session.server.get(*path, at=arguments.get("at"), **_policy_filters(arguments)).body


def _advise_autoscaling(session: CliSession, arguments: Json) -> Any:
    names = ("cluster", "policy", "pool")
    body = {name: arguments[name] for name in names if arguments.get(name)}
    answer = session.server.post("autoscaling", body=body)
    return _await_question(session, answer, "autoscaling", field="found")


def _advise_moves(session: CliSession, arguments: Json) -> Any:
    body: Json = {"cluster": arguments["cluster"]}
    if arguments.get("policy"):
        reference = parse_policy_reference(arguments["policy"])
        body |= {"policy": reference["name"], **({"revision": reference["revision"]} if len(reference) > 1 else {})}
    answer = session.server.post("descheduling", body=body)
    moves = dict(_await_question(session, answer, "descheduling", "dry-runs", field="moves"))
    return moves | {"landings": (moves.get("landings") or [])[:ROWS]}


def _advise_sizes(session: CliSession, arguments: Json) -> Any:
    filters = {"cluster": arguments["cluster"], "namespace": arguments.get("namespace")}
    answer: Json = session.server.get("right-sizing", **filters).body
    return {
        name: value[:ROWS] if isinstance(value, list) and len(value) > ROWS else value for name, value in answer.items()
    }


def _tell_costs(session: CliSession, arguments: Json) -> Any:
    answer: Json = session.server.get("clusters", arguments["cluster"], "cost", by=arguments.get("by")).body
    return {
        name: value[:ROWS] if isinstance(value, list) and len(value) > ROWS else value for name, value in answer.items()
    }


TEXT = {"type": "string"}
ADVICE_TOOLS: dict[str, Tool] = {
    "pending_causes": Tool(
        "The pending pods of a cluster by cause, each with what would let its first pod run: changes that were tried.",
        {"cluster": CLUSTER, "policy": POLICY},
        _list_causes,
        ("cluster",),
    ),
    "explain_node": Tool(
        "Why a node is as full as it is: its pods and why each is there, whether it could leave, and whom it refuses.",
        {"cluster": CLUSTER, "node": {**TEXT, "description": "Its name."}, "policy": POLICY},
        _explain_node,
        ("cluster", "node"),
    ),
    "list_groups": Tool(
        "The groups of pods of a cluster that are scheduled together.", {"cluster": CLUSTER}, _list_groups, ("cluster",)
    ),
    "explain_group": Tool(
        "Whether a group of pods finds a place, and what keeps it out.",
        {"cluster": CLUSTER, "group": {**TEXT, "description": "namespace/name"}, "policy": POLICY},
        _explain_group,
        ("cluster", "group"),
    ),
    "pod_history": Tool(
        "Why a pod was pending in the past and what changed until it ran; of clusters that are recorded.",
        {"cluster": CLUSTER, "pod": POD, "policy": POLICY, "at": {**TEXT, "description": "A time in ISO 8601."}},
        _tell_history,
        ("cluster", "pod"),
    ),
    "autoscaling": Tool(
        "What Karpenter would do with a cluster now: nodes to launch for pending pods, and nodes that could go.",
        {
            "cluster": CLUSTER,
            "policy": {
                **TEXT,
                "description": "Of kind Karpenter; a NodePool without requirements if none.",
            },
            "pool": {**TEXT, "description": "The NodePool of which nodes without one count."},
        },
        _advise_autoscaling,
        ("cluster",),
    ),
    "moves": Tool(
        "What the descheduler would evict from a cluster, and where those pods would land. Nothing is evicted.",
        {"cluster": CLUSTER, "policy": POLICY},
        _advise_moves,
        ("cluster",),
    ),
    "right_sizing": Tool(
        "What containers of a cluster should request by their real use, and what that saves.",
        {"cluster": CLUSTER, "namespace": {**TEXT, "description": "Of all without it."}},
        _advise_sizes,
        ("cluster",),
    ),
    "costs": Tool(
        "What a cluster costs, and who asks for it.",
        {"cluster": CLUSTER, "by": {**TEXT, "description": "How rows are grouped, such as namespace or workload."}},
        _tell_costs,
        ("cluster",),
    ),
}
