"""``queue``: why a workload waits for quota, and when it gets it."""

from __future__ import annotations

import argparse

from kschedweb.cli import output
from kschedweb.cli.exits import CommandError, Exit
from kschedweb.cli.session import CliSession, add_cluster_options
from kschedweb.engine.json_types import Json

DESCRIPTION = """\
Why a Workload of Kueue waits for quota on a cluster that the site knows: each flavor with what is missing, whom it
would evict, what would let it in, and when it gets quota. Without a name the queues are listed. The exit status is 1
where the workload neither has quota nor fits now."""
WORKLOADS = ("workload", "workloads", "workloads.kueue.x-k8s.io")
GETS_QUOTA = frozenset({"finished", "admitted", "checks", "next", "behind"})


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument(
        "workload", metavar="WORKLOAD", nargs="?", default="", help="job-a, workload/job-a or shop/job-a"
    )
    add_cluster_options(parser, namespace=True)
    parser.add_argument("--run-minutes", type=int, metavar="N", help="how long jobs run; finished ones tell without it")


def run(options: argparse.Namespace, session: CliSession) -> int:
    cluster = session.resolve_cluster(options)
    if not options.workload:
        nodes = session.server.get("clusters", cluster, "queues").body["nodes"]
        output.write_answer(options.output, nodes, _format_tree(nodes))
        return Exit.OK
    namespace, name = _parse_workload(options, session)
    answer = fetch_explanation(session, cluster, namespace, name, options.run_minutes)
    output.write_answer(options.output, answer, _format_explanation(answer))
    return Exit.OK if answer["verdict"] in GETS_QUOTA else Exit.NO


def _parse_workload(options: argparse.Namespace, session: CliSession) -> tuple[str, str]:
    before, slash, name = options.workload.rpartition("/")
    if not name or before.count("/"):
        raise CommandError(f"{options.workload}: must be a workload, such as job-a, workload/job-a or shop/job-a")
    if not slash or before in WORKLOADS:
        return session.resolve_namespace(options), name
    return before, name


def fetch_explanation(
    session: CliSession, cluster: str, namespace: str, name: str, run_minutes: int | None = None
) -> Json:
    """Return the site's answer about a workload."""
    filters = {"run_minutes": str(run_minutes) if run_minutes else None}
    return dict(session.server.get("clusters", cluster, "workloads", namespace, name, **filters).body)


def _format_tree(nodes: list[Json]) -> str:
    rows = [
        (
            "  " * node["depth"] + node["name"],
            node["kind"],
            f"{node['waiting']:,}",
            f"{node['admitted']:,}",
            node["inactive"],
        )
        for node in nodes
    ]
    return output.format_table(("NAME", "KIND", "WAITING", "WITH QUOTA", "INACTIVE"), rows)


def _format_explanation(answer: Json) -> str:
    forecast, evictions = answer["forecast"] or {}, answer["evictions"] or {}
    lines = [
        ("Workload", answer["workload"]),
        ("Answer", answer["title"]),
        *(("Because", detail) for detail in answer["details"]),
        ("Queue", answer["cluster_queue"]),
        *([("Place", f"{answer['position']:,}")] if answer["position"] else []),
        ("Asks for", answer["asks"]),
        *([("Message", answer["message"])] if answer["message"] else []),
        *([("When", f"{forecast['sentence']} {forecast['run_times']}".strip())] if forecast else []),
        *(("Would help", remedy["sentence"]) for remedy in answer["remedies"]),
    ]
    text = output.format_pairs(lines)
    attempts = [
        (pod_set["name"], attempt["flavor"], attempt["label"], " ".join(attempt["sentences"]))
        for pod_set in answer["pod_sets"]
        for attempt in pod_set["attempts"]
    ]
    if attempts:
        text += "\n" + output.format_table(("POD SET", "FLAVOR", "VERDICT", "WHY"), attempts)
    if candidates := evictions.get("candidates"):
        rows = [(item["workload"], item["cluster_queue"], item["priority"], item["sentence"]) for item in candidates]
        text += "\n" + output.format_table(("WITH QUOTA", "QUEUE", "PRIORITY", "VERDICT"), rows)
    return text
