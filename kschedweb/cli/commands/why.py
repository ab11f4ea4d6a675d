"""``why``: why a pod of the person's own cluster runs where it does, or nowhere; without a server."""

from __future__ import annotations

import argparse

from kschedweb.cli import output
from kschedweb.cli.commands.sentences import add_assumptions, format_answer, format_assumptions
from kschedweb.cli.exits import Exit
from kschedweb.cli.local import add_local_options, answering, load_cluster, parse_pod_key
from kschedweb.cli.reading.progress import StepWriter
from kschedweb.cli.session import CliSession
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.fixes.answers import PodState, answer_pod

DESCRIPTION = """\
Why a pod runs where it does, or nowhere, and what would let it run. The cluster is read by your kubectl, with your
rights; nothing is sent anywhere else and nothing is changed. The exit status is 1 where the pod finds no node."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument("pod", metavar="POD", help="web-1, pod/web-1 or shop/web-1")
    add_local_options(parser, namespace_help="of the pod; that of kubectl's context without it")


def run(options: argparse.Namespace, session: CliSession) -> int:
    key = parse_pod_key(options.pod, options, session)
    progress = StepWriter()
    namespace, _, name = key.partition("/")

    def choose_pod(pods: list[Json]) -> list[Json]:
        return [raw for raw in pods if _is_named(raw, namespace, name)]

    with answering():
        cluster = load_cluster(options, choose_pod, progress, namespace=namespace)
        progress.step(f"Deciding {key}")
        answer = answer_pod(cluster.scheduler, cluster.find_pod(key), read_queues=cluster.read_queues)
    progress.clear()
    style = output.Style(session.environment)
    text = format_answer(answer, style) + format_assumptions(cluster, style)
    output.write_answer(options.output, add_assumptions(answer.to_dict(), cluster), text)
    return Exit.OK if answer.state in (PodState.FITS, PodState.BOUND, PodState.ELSEWHERE) else Exit.NO


def _is_named(raw: Json, namespace: str, name: str) -> bool:
    metadata = raw.get("metadata") or {}
    return (metadata.get("namespace") or "default", metadata.get("name")) == (namespace, name)
