"""``queue``: why a workload waits for quota, when it gets it, and whether one that is not submitted would."""

from __future__ import annotations

import argparse
import json

from kschedweb.cli import output
from kschedweb.cli.commands.fit import read_manifests
from kschedweb.cli.exits import CommandError, Exit
from kschedweb.cli.session import CliSession, add_cluster_options
from kschedweb.engine.json_types import Json

DESCRIPTION = """\
Why a Workload of Kueue waits for quota on a cluster that the site knows: each flavor with what is missing, whom it
would evict, what would let it in, and when it gets quota. With -f the same is told of a manifest that nobody has
submitted yet, and with --set of other quotas; nothing is created. Without any of them the queues are listed. The exit
status is 1 where the workload neither has quota nor fits now."""
WORKLOADS = ("workload", "workloads", "workloads.kueue.x-k8s.io")
GETS_QUOTA = frozenset({"finished", "admitted", "checks", "next", "behind"})


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument(
        "workload", metavar="WORKLOAD", nargs="?", default="", help="job-a, workload/job-a or shop/job-a"
    )
    add_cluster_options(parser, namespace=True)
    parser.add_argument("-f", "--filename", metavar="FILE", default="", help="a job that is not submitted; - is stdin")
    parser.add_argument("--queue", metavar="QUEUE", default="", help="with -f: the LocalQueue, as shop/queue or queue")
    parser.add_argument(
        "--set",
        metavar="PATH=VALUE",
        action="append",
        default=[],
        help="another quota or rule, such as team-b/on-demand/cpu/nominal=60; as often as needed",
    )
    parser.add_argument("--run-minutes", type=int, metavar="N", help="how long jobs run; finished ones tell without it")


def run(options: argparse.Namespace, session: CliSession) -> int:
    cluster = session.resolve_cluster(options)
    if options.filename or options.set:
        answer = _ask_admission(options, session, cluster)
        output.write_answer(options.output, answer, _format_explanation(answer))
        return Exit.OK if answer["verdict"] in GETS_QUOTA else Exit.NO
    if not options.workload:
        nodes = session.server.get("clusters", cluster, "queues").body["nodes"]
        output.write_answer(options.output, nodes, _format_tree(nodes))
        return Exit.OK
    namespace, name = _parse_workload(options, session)
    answer = fetch_explanation(session, cluster, namespace, name, options.run_minutes)
    output.write_answer(options.output, answer, _format_explanation(answer))
    return Exit.OK if answer["verdict"] in GETS_QUOTA else Exit.NO


def _ask_admission(options: argparse.Namespace, session: CliSession, cluster: str) -> Json:
    """Return the answer about a manifest, or about a workload with other quotas."""
    body: Json = {"settings": _parse_settings(options.set)}
    if bool(options.filename) == bool(options.workload):
        raise CommandError("name either a workload or a manifest (-f)")
    if options.workload:
        body["workload"] = "/".join(_parse_workload(options, session))
    else:
        manifest = _read_manifest(options, session)
        body |= {"manifest": json.dumps(manifest), "queue": _parse_queue(options.queue, manifest)}
    if options.run_minutes:
        body["run_minutes"] = options.run_minutes
    return ask_admission(session, cluster, body)


def ask_admission(session: CliSession, cluster: str, body: Json) -> Json:
    """Return the site's answer about a workload that is not submitted, or with other quotas."""
    return dict(session.server.post("clusters", cluster, "admission", body=body).body)


def _read_manifest(options: argparse.Namespace, session: CliSession) -> Json:
    namespace, slash, _ = options.queue.partition("/")
    manifests = read_manifests(options.filename, namespace if slash else session.resolve_namespace(options))
    if len(manifests) != 1:
        raise CommandError(f"-f {options.filename}: has {len(manifests)} objects; ask about one at a time")
    return manifests[0]


def _parse_queue(queue: str, manifest: Json) -> str:
    """Return a LocalQueue as "namespace/name", "" for none; without one it is in the namespace of the manifest."""
    return queue if not queue or "/" in queue else f"{manifest['metadata']['namespace']}/{queue}"


def _parse_settings(texts: list[str]) -> Json:
    pairs = [text.partition("=") for text in texts]
    if wrong := [path for path, separator, value in pairs if not (path and separator and value)]:
        raise CommandError(f"--set {wrong[0]}: must be PATH=VALUE, such as team-b/on-demand/cpu/nominal=60")
    return {path: value for path, _, value in pairs}


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
