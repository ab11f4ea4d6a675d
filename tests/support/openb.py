"""A recorded production cluster (openb) as Kubernetes objects."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

from tests.support import seed

Json = dict[str, Any]
GPU = "nvidia.com/gpu"


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def nodes(shared: Path) -> list[Json]:
    """The 1,523 nodes, with their GPU model as a label."""
    found = []
    for row in _rows(shared / "data" / "openb_node_list_all_node.csv.gz"):
        gpus = {GPU: row["gpu"]} if row["gpu"] != "0" else {}
        node = seed.node(row["sn"], f"{row['cpu_milli']}m", f"{row['memory_mib']}Mi", **gpus)
        labels = {"kubernetes.io/hostname": row["sn"], "kubernetes.io/os": "linux"}
        node["metadata"]["labels"] = labels | ({"gpu-model": row["model"]} if row["model"] else {})
        found.append(node)
    return found


def pods(shared: Path, count: int) -> list[Json]:
    """The first ``count`` pods, unbound."""
    rows = _rows(shared / "data" / "openb_pod_list_default.csv.gz")[:count]
    return [
        seed.pod(
            row["name"],
            f"{row['cpu_milli']}m",
            f"{row['memory_mib']}Mi",
            **({GPU: row["num_gpu"]} if row["num_gpu"] != "0" else {}),
        )
        for row in rows
    ]
