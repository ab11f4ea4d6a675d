"""``explain``: why a pod goes where it goes."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from kschedweb.cli import output
from kschedweb.cli.exits import CommandError, Exit
from kschedweb.cli.session import (
    CliSession,
    add_cluster_options,
    add_wait_option,
    is_file,
    parse_policy_reference,
    read_file,
    wait_for_result,
)
from kschedweb.engine.garbage import paused_collector
from kschedweb.engine.json_types import Json

DESCRIPTION = """\
Why a pod goes where it goes under a policy: on a cluster that the site knows, or on a dump of one (--snapshot), which
needs no server. A bound pod is explained as if it had no node yet. Where the policy has no profile for the pod, the
live scheduler of its name answers. The exit status is 1 where no node takes it, or where scheduling gates keep it from
being tried: not where it waits for approval, nor where a scheduler handles it that nobody here knows."""
# Of REST's statuses.
DECIDED, HANDLED = "decided", "handled_elsewhere"
ENDED = ("succeeded", "failed", "cancelled")
# Lines of a table.
NODES, REASONS = 10, 10


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument("pod", metavar="POD", help="web-1, pod/web-1 or shop/web-1")
    add_cluster_options(parser, namespace=True)
    parser.add_argument(
        "--policy", metavar="NAME", default="", help="a saved policy, as name or name@revision; with --snapshot a file"
    )
    parser.add_argument(
        "--snapshot", metavar="FILE", default="", help="the cluster, as kubectl get … -o json writes it"
    )
    parser.add_argument("--release", default="", metavar="1.37", help="with --snapshot: of kube-scheduler")
    parser.add_argument("--feature-gates", default="", help="with --snapshot: Name=true,Other=false")
    parser.add_argument("--nodes", type=int, default=NODES, metavar="N", help=f"of the table; {NODES} without it")
    add_wait_option(parser)


def run(options: argparse.Namespace, session: CliSession) -> int:
    namespace, name = session.parse_pod(options.pod, options)
    if options.snapshot:
        # Imported here, since only this case needs the engine, whose import takes a second.
        from kschedweb.cli.offline import explain_from_files

        policy = read_file(options.policy) if options.policy else None
        with paused_collector():
            answer = explain_from_files(options, f"{namespace}/{name}", policy)
    else:
        answer = fetch_decision(session, session.resolve_cluster(options), namespace, name, options)
    output.write_answer(options.output, answer, _format_table(answer, max(options.nodes, 0)))
    goes = answer.get("chosen") and not answer.get("pre_enqueue")
    return Exit.OK if goes or answer.get("status", DECIDED) != DECIDED else Exit.NO


def fetch_decision(session: CliSession, cluster: str, namespace: str, name: str, options: argparse.Namespace) -> Json:
    """Return the site's answer once it has one."""
    if options.policy and is_file(options.policy):
        raise CommandError("--policy: a file goes with --snapshot; a saved policy is named without an ending")
    if options.release or options.feature_gates:
        raise CommandError("--release, --feature-gates: go with --snapshot; a saved policy names its own")
    policy = parse_policy_reference(options.policy) if options.policy else {}
    filters = {"policy": policy.get("name"), "revision": policy.get("revision")}
    answer = session.server.get("clusters", cluster, "pods", namespace, name, "decision", **filters)
    if answer.status != 202:
        return dict(answer.body)
    question = str(answer.body["id"])

    def poll() -> Any:
        inquiry = session.server.get("decisions", "questions", question).body
        return inquiry if inquiry["state"] in ENDED else None

    inquiry = wait_for_result(poll, options.wait)
    if inquiry["state"] != "succeeded":
        raise CommandError(f"the job {inquiry['state']}: {inquiry['error']}", Exit.UNREACHABLE)
    return dict(inquiry["answer"])


def _format_table(answer: Json, max_nodes: int) -> str:
    lines = [("Pod", answer["pod"])]
    if approval := answer.get("approval"):
        lines += [("Status", approval["sentence"]), ("Request", approval["id"])]
    if answer.get("status") == HANDLED:
        lines.append(("Status", answer["message"]))
        return output.format_pairs([*lines, *([("Runs on", answer["bound_to"])] if answer.get("bound_to") else [])])
    scheduler = answer.get("scheduler") or {}
    if scheduler.get("answered_by") == "live":
        lines.append(("Scheduler", f"{scheduler['name']}, a live scheduler"))
    if answer.get("policy"):
        lines.append(("Policy", f"{answer['policy']}, revision {answer['revision']}"))
    lines += _node_lines(answer)
    if answer.get("bound_to"):
        lines.append(("Runs on", answer["bound_to"]))
    if answer.get("message"):
        lines.append(("Message", answer["message"]))
    lines += [("Warning", text) for text in answer.get("warnings") or []]
    text = output.format_pairs(lines)
    total = answer.get("total") or {}
    if total and max_nodes:
        best = sorted(total, key=lambda node: -total[node])[:max_nodes]
        text += "\n" + output.format_table(("NODE", "SCORE"), [(node, f"{total[node]:,}") for node in best])
        text += f"and {len(total) - max_nodes:,} more\n" if len(total) > max_nodes else ""
    if rejected := answer.get("rejected"):
        text += "\n" + output.format_table(("NODES", "PLUGIN", "REASON"), _count_reasons(rejected))
    return text


def _node_lines(answer: Json) -> list[tuple[str, str]]:
    node, pre_enqueue = answer.get("chosen"), answer.get("pre_enqueue")
    if not pre_enqueue:
        return [("Node", node or "none")]
    lines = [("Node", "none"), ("Not tried", f"{pre_enqueue['plugin']}: {', '.join(pre_enqueue['reasons'])}")]
    return [*lines, ("Would go to", f"{node}, once it is let into the queue")] if node else lines


def _count_reasons(rejected: Json) -> list[tuple[str, str, str]]:
    counted = Counter(
        (rejection.get("plugin", ""), ", ".join(rejection.get("reasons") or ())) for rejection in rejected.values()
    )
    return [(f"{number:,}", plugin, reason) for (plugin, reason), number in counted.most_common(REASONS)]
