"""Read the tables of the openb recording (Alibaba's cluster-trace-gpu-v2023): nodes and pods with GPUs.

CPU is in milli-cores, memory in MiB, times are in seconds. A share of a GPU (``gpu_milli`` below 1000) becomes a
request for a whole GPU, because kube-scheduler has no shares of ``nvidia.com/gpu``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.node import HOSTNAME
from kschedweb.engine.studies.traces.pods import PodSpecs, TracePod, object_name
from kschedweb.engine.studies.traces.table import LineProblems, Row, RowError, read_amount, read_required, read_rows

GPU, MODEL = "nvidia.com/gpu", "nvidia.com/gpu.product"
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = (
    *("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"),
    *("qos", "creation_time", "deletion_time", "scheduled_time"),
)
# Pods on a node: the kubelet's default limit, as the recording has none.
PODS = "110"


def read_nodes(lines: Iterable[str], line_problems: LineProblems) -> Iterator[Json]:
    """Yield the nodes, all ready and empty. Raise TraceError."""
    for line, row in read_rows(lines, NODE_COLUMNS, line_problems):
        try:
            node = _read_node(row)
        except RowError as problem:
            line_problems.leave_out(line, str(problem))
            continue
        line_problems.count_line(line, 0.0)
        yield node
    line_problems.conclude()


def _read_node(row: Row) -> Json:
    name, gpus = object_name(row["sn"]), _whole_number(row, "gpu") or 0
    if not name:
        raise RowError("sn is empty")
    amounts = {
        "cpu": f"{_required_number(row, 'cpu_milli')}m",
        "memory": f"{_required_number(row, 'memory_mib')}Mi",
        "pods": PODS,
    }
    if gpus:
        amounts[GPU] = str(gpus)
    labels = {HOSTNAME: name, "kubernetes.io/os": "linux"}
    if model := row["model"].strip():
        labels[MODEL] = model
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def read_pods(lines: Iterable[str], namespace: str, line_problems: LineProblems) -> Iterator[TracePod]:
    """Yield the pods in the order of the lines. Raise TraceError."""
    specs, shares = PodSpecs(), 0
    for line, row in read_rows(lines, POD_COLUMNS, line_problems):
        try:
            pod = _read_pod(row, namespace, specs)
            share = _whole_number(row, "gpu_milli") or 0
        except RowError as problem:
            line_problems.leave_out(line, str(problem))
            continue
        if 0 < share < 1000 and (shares := shares + 1) == 1:
            line_problems.report_problem("pods that asked for a share of a GPU ask for a whole one here")
        line_problems.count_line(line, pod.at)
        yield pod
    line_problems.conclude()


def _read_pod(row: Row, namespace: str, specs: PodSpecs) -> TracePod:
    name, gpus = object_name(row["name"]), _whole_number(row, "num_gpu") or 0
    if not name:
        raise RowError("name is empty")
    at, scheduled, deleted = (
        read_required(row, "creation_time"),
        read_amount(row, "scheduled_time"),
        read_amount(row, "deletion_time"),
    )
    begin, begin_column = (at, "creation_time") if scheduled is None else (scheduled, "scheduled_time")
    if scheduled is not None and scheduled < at:
        raise RowError("scheduled_time is before creation_time")
    if deleted is not None and deleted < begin:
        raise RowError(f"deletion_time is before {begin_column}")
    requests = {"cpu": f"{_required_number(row, 'cpu_milli')}m", "memory": f"{_required_number(row, 'memory_mib')}Mi"}
    limits = {GPU: str(gpus)} if gpus else {}
    models = [model.strip() for model in row["gpu_spec"].split("|") if model.strip()]
    labels = {"qos": row["qos"].strip()} if row["qos"].strip() else {}
    raw = specs.create_pod(name, namespace, labels, requests | limits, limits, _on_models(models) if models else None)
    # A scheduled pod runs as long in a scenario as it did; another one leaves at its time, scheduled or not.
    if scheduled is not None:
        return TracePod(raw, at, None if deleted is None else deleted - scheduled)
    return TracePod(raw, at, None, deleted)


def _on_models(models: list[str]) -> Json:
    """Return the node affinity to these models of GPUs."""
    term = {"matchExpressions": [{"key": MODEL, "operator": "In", "values": models}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"affinity": {"nodeAffinity": required}}


def _whole_number(row: Row, name: str) -> int | None:
    number = read_amount(row, name)
    if number is not None and not number.is_integer():
        raise RowError(f"{name} is {row[name].strip()[:40]}, which is no whole number")
    return None if number is None else int(number)


def _required_number(row: Row, name: str) -> int:
    number = _whole_number(row, name)
    if number is None:
        raise RowError(f"{name} is empty")
    return number
