"""The tools that ``kschedweb mcp`` offers to language models: each one only reads, with the rights of the token."""

from __future__ import annotations

import argparse
import json
from typing import Any

from kschedweb.cli.commands import explain, queue
from kschedweb.cli.commands.advice_tools import ADVICE_TOOLS
from kschedweb.cli.commands.tool import CLUSTER, NODES, POD, POLICY, ROWS, Tool, split_key
from kschedweb.cli.exits import CommandError, Exit
from kschedweb.cli.session import MOST_CLUSTERS, CliSession, parse_policy_reference, wait_for_result
from kschedweb.engine.json_types import Json


def _list_clusters(session: CliSession, _: Json) -> Any:
    keys = ("name", "release", "counts", "taken_at")
    return [
        {key: cluster[key] for key in keys}
        for cluster in session.server.get_list("clusters", max_results=MOST_CLUSTERS)
    ]


def _list_pending_pods(session: CliSession, arguments: Json) -> Any:
    filters = {"pending": "true", "namespace": arguments.get("namespace")}
    keys = ("namespace", "name", "scheduler_name", "priority", "cpu_request", "memory_request", "gated", "message")
    pods = session.server.get_list("clusters", arguments["cluster"], "pods", max_results=ROWS, **filters)
    waits = {approval["uid"]: approval for approval in _get_waiting_approvals(session, arguments)}
    return [
        {key: pod[key] for key in keys}
        | ({"waits_for_approval": _summarize_approval(waits[pod["uid"]])} if pod["uid"] in waits else {})
        for pod in pods
    ]


def _explain_pod(session: CliSession, arguments: Json) -> Any:
    return _summarize_decision(_fetch_decision(session, arguments, arguments.get("policy", "")))


def _explain_workload(session: CliSession, arguments: Json) -> Any:
    namespace, name = split_key(arguments["workload"], "workload")
    return _summarize_explanation(queue.fetch_explanation(session, arguments["cluster"], namespace, name))


def _ask_admission(session: CliSession, arguments: Json) -> Any:
    body = {key: value for key, value in arguments.items() if key not in ("cluster", "manifest")}
    if "manifest" in arguments:
        body["manifest"] = json.dumps(arguments["manifest"])
    return _summarize_explanation(queue.ask_admission(session, arguments["cluster"], body))


def _summarize_explanation(answer: Json) -> Json:
    # The sentences tell what these list.
    return {key: value for key, value in answer.items() if key not in ("limits", "holders", "requests")}


def _compare_policies(session: CliSession, arguments: Json) -> Any:
    """Return a pod's decision under two policies; without a pod, all pending ones by their reasons."""
    sides = {}
    for name in ("baseline", "policy"):
        if arguments.get("pod"):
            sides[name] = _summarize_decision(_fetch_decision(session, arguments, arguments[name]))
        else:
            policy_reference = parse_policy_reference(arguments[name])
            filters = {"policy": policy_reference["name"], "revision": policy_reference.get("revision")}
            sides[name] = _require_answer(
                session, session.server.get("clusters", arguments["cluster"], "decisions", **filters)
            )
    return sides


def _ask_capacity(session: CliSession, arguments: Json) -> Any:
    body: Json = {"cluster": arguments["cluster"]}
    body["pod"] = (
        {"requests": arguments["requests"]} if "requests" in arguments else {"workload": arguments.get("pod", "")}
    )
    if arguments.get("policy"):
        policy_reference = parse_policy_reference(arguments["policy"])
        body |= {
            "policy": policy_reference["name"],
            **({"revision": policy_reference["revision"]} if "revision" in policy_reference else {}),
        }
    answer = session.server.post("capacity", "fit", body=body)
    if answer.status != 202:
        return answer.body
    number = str(answer.body["id"])

    def poll() -> Any:
        capacity_answer = session.server.get("capacity", "answers", number).body
        return capacity_answer if capacity_answer["state"] in explain.ENDED else None

    capacity_answer = wait_for_result(poll, session.patience)
    if not capacity_answer.get("fit"):
        raise CommandError(f"the job {capacity_answer['state']}: {capacity_answer['error']}", Exit.UNREACHABLE)
    return capacity_answer["fit"]


def _list_approvals(session: CliSession, arguments: Json) -> Any:
    return [_summarize_approval(approval) for approval in _get_waiting_approvals(session, arguments)]


def _get_waiting_approvals(session: CliSession, arguments: Json) -> Any:
    """Return the requests for approval that people may decide now."""
    filters = {"state": "waiting", "cluster": arguments.get("cluster"), "namespace": arguments.get("namespace")}
    return session.server.get_list("approvals", max_results=ROWS, **filters)


def _summarize_approval(request: Json) -> Json:
    keys = ("id", "cluster", "namespace", "name", "node", "why", "approvals", "missing", "asked_at", "expires_at")
    return {key: request[key] for key in keys}


def _fetch_decision(session: CliSession, arguments: Json, policy: str) -> Json:
    namespace, name = split_key(arguments["pod"], "pod")
    options = argparse.Namespace(policy=policy, release="", feature_gates="", wait=session.patience)
    return explain.fetch_decision(session, arguments["cluster"], namespace, name, options)


def _require_answer(session: CliSession, answer: Any) -> Any:
    if answer.status == 202:
        raise CommandError("this cluster is too large to judge all pods at once: name a pod")
    return answer.body


def _summarize_decision(answer: Json) -> Json:
    """Return a decision without the verdict of each filter on each node, which would only fill the context."""
    total = answer.get("total") or {}
    best = sorted(total, key=lambda node: -total[node])[:NODES]
    keys = (
        "pod", "status", "scheduler", "approval", "policy", "revision", "release", "bound_to", "chosen", "message",
        "post_filter", "asks", "warnings", "fixes", "device_chains",
    )  # fmt: skip
    verdicts = [{**verdict, "nodes": verdict["nodes"][:NODES]} for verdict in answer.get("verdicts") or []]
    return {
        **{key: answer[key] for key in keys if answer.get(key) not in (None, "", [])},
        "feasible_nodes": len(total),
        "best_nodes": {node: total[node] for node in best},
        "scores_of_chosen": _weigh_scores(answer),
        "rejected": verdicts,
    }


def _weigh_scores(answer: Json) -> Json:
    chosen = answer.get("chosen")
    scores = answer.get("scores") or {}
    return {plugin: score["weight"] * score["normalized"][chosen] for plugin, score in scores.items()} if chosen else {}


TOOLS: dict[str, Tool] = ADVICE_TOOLS | {
    "list_clusters": Tool("The clusters that the person may see, with numbers of nodes and pods.", {}, _list_clusters),
    "list_pending": Tool(
        f"The pending pods of a cluster with the scheduler's messages and the approvals they wait for, at most {ROWS}.",
        {"cluster": CLUSTER, "namespace": {"type": "string", "description": "Of all without it."}},
        _list_pending_pods,
        ("cluster",),
    ),
    "explain_pod": Tool(
        "Why a pod goes to its node, or to none: the nodes that fit with their scores, and the others by reason; "
        "whether it waits for approval, and which scheduler handles it.",
        {"cluster": CLUSTER, "pod": POD, "policy": POLICY},
        _explain_pod,
        ("cluster", "pod"),
    ),
    "explain_workload": Tool(
        "Why a Workload of Kueue waits for quota: each flavor, who is ahead, whom it would evict and why not others, "
        "what would let it in, and when it gets quota.",
        {"cluster": CLUSTER, "workload": {"type": "string", "description": "namespace/name"}},
        _explain_workload,
        ("cluster", "workload"),
    ),
    "ask_admission": Tool(
        "Whether Kueue would admit a workload that is not submitted yet, or one that waits if quotas were others: its "
        "flavors, whom it would evict, or why it would wait. Give manifest, requests or workload.",
        {
            "cluster": CLUSTER,
            "manifest": {"type": "object", "description": "A Job, CronJob, JobSet, Pod, StatefulSet or Workload."},
            "requests": {"type": "object", "description": "Of one pod, such as {cpu: 500m, memory: 1Gi}."},
            "pods": {"type": "integer", "description": "How many pods, with requests."},
            "queue": {"type": "string", "description": "namespace/name of a LocalQueue; else the manifest's own."},
            "workload": {"type": "string", "description": "namespace/name of one that is there."},
            "settings": {
                "type": "object",
                "description": "Other quotas by path, such as {team-b/on-demand/cpu/nominal: '60'}.",
            },
        },
        _ask_admission,
        ("cluster",),
    ),
    "compare_policies": Tool(
        "The decisions of two policies about the same pod, or about all pending pods of a cluster.",
        {"cluster": CLUSTER, "baseline": POLICY, "policy": POLICY, "pod": POD},
        _compare_policies,
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
        _ask_capacity,
        ("cluster",),
    ),
    "list_approvals": Tool(
        "The pods that wait for a person's approval. Only a person decides.",
        {"cluster": CLUSTER},
        _list_approvals,
    ),
}
