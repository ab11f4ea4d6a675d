"""``fit``: how many pods of a manifest fit into the person's own cluster; without a server."""

from __future__ import annotations

import argparse
import sys
import time

from kschedweb.cli import output
from kschedweb.cli.commands.sentences import add_assumptions, format_assumptions, format_causes, format_fixes
from kschedweb.cli.exits import CommandError, Exit
from kschedweb.cli.local import LocalCluster, add_local_options, answering, load_cluster, resolve_namespace
from kschedweb.cli.reading.progress import StepWriter
from kschedweb.cli.session import CliSession, read_file
from kschedweb.engine.documents.files import ReadError, cluster_objects, read_documents
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.kinds import BY_NAME
from kschedweb.engine.studies.capacity.shapes import ShapeError
from kschedweb.engine.studies.fixes.fitting import REPLICA_FIELDS, WorkloadFit, fit_workload, read_workload

DESCRIPTION = """\
How many pods of a manifest fit, what keeps further ones out, and what would help. Nothing is created: the pods are
placed by the engine on a copy of the cluster, which is read by your kubectl. The exit status is 1 where not all fit."""
# Pods of one workload that are placed at most, and seconds spent on those that it does not want.
MOST_PODS, SECONDS = 1_000, 3.0
# Nodes that are listed.
NODES = 10
WORKLOADS = {*REPLICA_FIELDS, "CronJob", "Pod"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument("-f", "--filename", metavar="FILE", required=True, help="manifests in YAML or JSON; - is stdin")
    add_local_options(parser, namespace_help="of manifests that name none; that of kubectl's context without it")
    parser.add_argument("--replicas", type=int, metavar="N", help="in place of those of the manifest")
    parser.add_argument(
        "--most", type=int, default=MOST_PODS, metavar="N", help=f"stop there; {MOST_PODS:,} without it"
    )


def run(options: argparse.Namespace, session: CliSession) -> int:
    manifests = read_manifests(options.filename, resolve_namespace(options, session))
    workloads = [raw for raw in manifests if raw.get("kind") in WORKLOADS]
    if not workloads:
        raise CommandError(f"-f {options.filename}: has no manifest with pods: {', '.join(sorted(WORKLOADS))}")
    progress = StepWriter()

    def choose_templates(_: list[Json]) -> list[Json]:
        return [_pod_of(raw) for raw in workloads]

    extra_objects = [raw for raw in manifests if raw.get("kind") not in WORKLOADS and raw.get("kind") in BY_NAME]
    with answering():
        cluster = load_cluster(options, choose_templates, progress, new_pods=True, extra_objects=extra_objects)
        fits = [_fit(cluster, raw, options, progress) for raw in workloads]
    progress.clear()
    style = output.Style(session.environment)
    answer = {"workloads": [fit.to_dict() for fit in fits]}
    text = "\n".join(_format_fit(fit, style) for fit in fits) + format_assumptions(cluster, style)
    output.write_answer(options.output, add_assumptions(answer, cluster), text)
    return Exit.OK if all(fit.fits >= fit.replicas for fit in fits) else Exit.NO


def read_manifests(file: str, namespace: str) -> list[Json]:
    """Return the objects of a file, each in a namespace if it has one. Raises CommandError."""
    content = sys.stdin.buffer.read() if file == "-" else read_file(file)
    try:
        listed = cluster_objects(read_documents(content))
    except ReadError as error:
        raise CommandError(f"-f {file}: {error}") from None
    return [_with_namespace(raw, namespace) for raw in listed]


def _with_namespace(raw: Json, namespace: str) -> Json:
    kind = BY_NAME.get(str(raw.get("kind")))
    metadata = raw.get("metadata") or {}
    if metadata.get("namespace") or (kind is not None and not kind.namespaced):
        return raw
    return {**raw, "metadata": {**metadata, "namespace": namespace}}


def _pod_of(raw: Json) -> Json:
    """Return a manifest's pod, from which the kinds to read are found."""
    spec = raw.get("spec") or {}
    if raw.get("kind") == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    pod_spec = spec if raw.get("kind") == "Pod" else (spec.get("template") or {}).get("spec") or {}
    volumes = [*(pod_spec.get("volumes") or []), *({"ephemeral": True} for _ in spec.get("volumeClaimTemplates") or [])]
    return {"kind": "Pod", "metadata": raw.get("metadata"), "spec": {**pod_spec, "volumes": volumes}}


def _fit(cluster: LocalCluster, raw: Json, options: argparse.Namespace, progress: StepWriter) -> WorkloadFit:
    try:
        workload = read_workload(cluster.scheduler, raw)
    except ShapeError as error:
        raise CommandError(f"-f {options.filename}: {error}") from None
    assert workload is not None
    shape, replicas, name = workload
    end = time.monotonic() + SECONDS

    def go_on(count: int) -> bool:
        progress.step(f"Placing pods of {name}: {count:,}")
        return time.monotonic() < end

    replicas = replicas if options.replicas is None else max(options.replicas, 0)
    return fit_workload(cluster.scheduler, shape, replicas, name, limit=options.most, check=go_on)


def _format_fit(fit: WorkloadFit, style: output.Style) -> str:
    lines = [style.title(output.escape_unprintable(f"{fit.sentence}."))]
    if fit.by_node:
        node_text = ", ".join(f"{node} {count:,}" for node, count in fit.by_node[:NODES])
        more = f" and {len(fit.by_node) - NODES:,} more nodes" if len(fit.by_node) > NODES else ""
        lines.append(f"  On: {output.escape_unprintable(node_text)}{more}.")
    lines += [f"  Note: {output.escape_unprintable(note)}" for note in fit.notes]
    if fit.next_pod is not None:
        lines += ["", "The next one fits no node:"]
        lines += format_causes(fit.next_pod)
        if fit.next_pod.nearest:
            lines.append(f"Nearest miss: {output.escape_unprintable(fit.next_pod.nearest)}.")
        lines += format_fixes(fit.next_pod.fixes, style)
    return "\n".join(lines) + "\n"
