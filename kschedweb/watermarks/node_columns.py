"""The nodes of snapshots as columns: thousands of nodes are read and looked at more quickly so than as rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from django.db.models import TextField
from django.db.models.functions import Cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from django.db.models import QuerySet
    from numpy.typing import NDArray

    from kschedweb.clusters.models import NodeRow
    from kschedweb.engine.state.columns import Floats

# Fields of a row, by the type of their columns.
WORDS = ("name", "zone", "region", "instance_type")
FLAGS = ("ready", "unschedulable")
AMOUNTS = (
    "cpu_share", "memory_share", "pods_bound", "pods_allocatable",
    "cpu_requested", "cpu_allocatable", "memory_requested", "memory_allocatable",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class NodeRowColumns:
    """Nodes, with the fields of their rows."""

    # Of WORDS.
    words: Mapping[str, list[str]]
    # Of FLAGS and AMOUNTS. Shape [nodes].
    numbers: Mapping[str, NDArray[Any]]
    # The requested percentage of each extended resource; NaN for nodes without it. Shape [nodes].
    extended: Mapping[str, Floats]

    @property
    def names(self) -> list[str]:
        return self.words["name"]


def read_columns(rows: QuerySet[NodeRow]) -> NodeRowColumns:
    """Return the nodes of ``rows``, in their order."""
    fields = (*WORDS, *FLAGS, *AMOUNTS, "extended")
    # JSON comes as text: a value of its own for each row would take most of the time.
    listed = rows.values_list(*fields[:-1], Cast("extended", TextField()))
    columns = dict(zip(fields, zip(*listed, strict=True), strict=False))
    return NodeRowColumns(
        {name: list(columns.get(name, ())) for name in WORDS},
        {name: np.array(columns.get(name, ()), dtype=bool if name in FLAGS else np.int64) for name in FLAGS + AMOUNTS},
        _compute_extended(columns.get("extended", ())),
    )


def _compute_extended(texts: Sequence[str]) -> dict[str, Floats]:
    """Return NodeRowColumns.extended by the JSON text of each node: requested and offered amounts by resource."""
    percents: dict[str, Floats] = {}
    for place, text in enumerate(texts):
        if text == "{}":
            continue
        for name, (requested, allocatable) in json.loads(text).items():
            column = percents.setdefault(name, np.full(len(texts), np.nan))
            if allocatable:
                column[place] = 100 * requested / allocatable
    return dict(sorted(percents.items()))
