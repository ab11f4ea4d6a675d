"""A recorded production cluster (openb) as Kubernetes objects, read as the engine reads it."""

from __future__ import annotations

import itertools

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.traces import openb
from kschedweb.engine.studies.traces.table import LineProblems
from kschedweb.engine.studies.traces.text import read_lines
from tests.data import DATA

GPU = openb.GPU


def files() -> dict[str, bytes]:
    """The two tables, packed by gzip, as a scenario's files ``nodes`` and ``pods``."""
    return {
        "nodes": (DATA / "openb_node_list_all_node.csv.gz").read_bytes(),
        "pods": (DATA / "openb_pod_list_default.csv.gz").read_bytes(),
    }


def nodes() -> list[Json]:
    """The 1,523 nodes, with their GPU model as a label."""
    return list(openb.read_nodes(read_lines(files()["nodes"]), LineProblems("nodes", [])))


def pods(count: int) -> list[Json]:
    """The first ``count`` pods in their order, unbound, as a cluster would have them: with a uid and an image."""
    recorded = openb.read_pods(read_lines(files()["pods"]), "default", LineProblems("pods", []))
    return [_stored(row.raw) for row in itertools.islice(recorded, count)]


def _stored(raw: Json) -> Json:
    containers = [{**container, "image": "example/app:1"} for container in raw["spec"]["containers"]]
    metadata = {**raw["metadata"], "uid": raw["metadata"]["name"]}
    return {
        **raw,
        "metadata": metadata,
        "spec": {**raw["spec"], "containers": containers},
        "status": {"phase": "Pending"},
    }
