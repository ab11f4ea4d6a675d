"""Pack an explanation into bytes, so that the page of a decision can show later how the pod was judged.

An insight (insight.py) may be packed with it.

The format is a zlib stream of one line of JSON (texts, and the type of each array) and the arrays after it,
little-endian, in the order in which the line names them. The result of preemption is the plain data of its
``to_dict``.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import get_language
from numpy.typing import NDArray

from kschedweb.decisions.kept.insight import Insight
from kschedweb.engine.framework.explanation import Explanation, FilterColumn, ScoreColumn
from kschedweb.engine.framework.status import OUTSIDE, Code, Status
from kschedweb.engine.json_types import Json

VERSION = 1
# Of zlib: a third of the time of the usual 6, for a tenth more bytes.
LEVEL = 3
# Bytes of an unpacked explanation, far beyond that of the largest cluster.
LARGEST = 256 << 20


@dataclass(frozen=True)
class KeptPreemption:
    """The candidates of preemption, as they were stored."""

    candidates: Json

    def to_dict(self) -> Json:
        return self.candidates


def pack_explanation(
    explanation: Explanation, insight: Insight | None = None, insights_by_language: Mapping[str, Insight] | None = None
) -> bytes:
    """Return ``explanation`` as bytes, with the insight into the cluster.

    ``insights_by_language`` has the insight in further languages.
    """
    result = explanation
    arrays: list[NDArray[Any]] = [result.rejected_by, result.feasible, result.total]
    arrays += [column.codes for column in result.filters if not column.skipped]
    for scored in result.scores:
        arrays += [scored.raw, scored.normalized]
    narrow = [_narrow_type(array) for array in arrays]
    head = {
        "version": VERSION,
        "pod": result.pod,
        "profile": result.profile,
        "nodes": result.nodes,
        "preEnqueue": _status_to_json(result.pre_enqueue),
        "preFilter": None if result.pre_filter is None else _status_to_json(result.pre_filter),
        "preFilterNodes": result.pre_filter_nodes,
        "filters": [
            [column.plugin, column.skipped, list(map(_status_to_json, column.verdicts))] for column in result.filters
        ],
        "scores": [[column.plugin, column.weight] for column in result.scores],
        "skipped": result.skipped,
        "best": list(map(int, result.best)),
        "chosen": None if result.chosen is None else int(result.chosen),
        "message": result.message,
        "postFilter": result.post_filter,
        "unasked": result.unasked,
        "preemption": None if result.preemption is None else result.preemption.to_dict(),
        "insight": None if insight is None else insight.to_dict(),
        "insights": {
            language: kept_insight.to_dict() for language, kept_insight in (insights_by_language or {}).items()
        },
        "arrays": [[array.dtype.str, len(array)] for array in narrow],
        "facts": _facts_to_json(result),
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    return zlib.compress(b"\n".join((text, b"".join(array.tobytes() for array in narrow))), LEVEL)


def unpack_explanation(data: bytes) -> tuple[Explanation, Insight]:
    """Return the arguments of ``pack_explanation``, with the insight in the reader's language if it was stored.

    Raises ValueError for bytes that it did not make, or that a later version made.
    """
    try:
        # Limited, so that a few bytes cannot unpack to more than memory holds.
        machine = zlib.decompressobj()
        text, _, array_bytes = machine.decompress(data, LARGEST).partition(b"\n")
        head = json.loads(text)
        version = head["version"]
    except (zlib.error, ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("These bytes are no explanation.") from None
    if version != VERSION:
        raise ValueError(f"This explanation is in form {version}, and {VERSION} is read here.")
    arrays = _iterate_arrays(head["arrays"], array_bytes)
    rejected_by, feasible, total = next(arrays).astype(np.int32), next(arrays).astype(np.intp), next(arrays)
    size = len(head["nodes"])
    facts = head.get("facts") or {}
    unknown = [[None] * len(verdicts) for _, _, verdicts in head["filters"]]
    filters = [
        FilterColumn.for_skipped_filter(plugin, size)
        if skipped
        else FilterColumn(plugin, False, next(arrays).astype(np.int32), list(map(_read_status, verdicts, column_facts)))
        for (plugin, skipped, verdicts), column_facts in zip(
            head["filters"], facts.get("filters", unknown), strict=True
        )
    ]
    scores = [ScoreColumn(plugin, weight, next(arrays), next(arrays)) for plugin, weight in head["scores"]]
    explanation = Explanation(
        pod=head["pod"],
        profile=head["profile"],
        nodes=head["nodes"],
        pre_enqueue=_read_status(head["preEnqueue"], facts.get("preEnqueue")),
        pre_filter=None if head["preFilter"] is None else _read_status(head["preFilter"], facts.get("preFilter")),
        pre_filter_nodes=head["preFilterNodes"],
        filters=filters,
        rejected_by=rejected_by,
        feasible=feasible,
        scores=scores,
        skipped=head["skipped"],
        total=total,
        best=head["best"],
        chosen=head["chosen"],
        message=head["message"],
        post_filter=head["postFilter"],
        unasked=head["unasked"],
        preemption=None if head["preemption"] is None else KeptPreemption(head["preemption"]),
    )
    insight = head.get("insights", {}).get(get_language()) or head.get("insight")
    return explanation, Insight() if insight is None else Insight.from_dict(insight)


def _narrow_type(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers in the smallest type that holds them: most scores and codes fit into a byte."""
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for kind in ("<i1", "<i2", "<i4"):
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return array.astype(kind)
    return array.astype("<i8")


def _iterate_arrays(forms: list[list[Any]], data: bytes) -> Any:
    at = 0
    for kind, length in forms:
        array = np.frombuffer(data, dtype=np.dtype(kind), count=length, offset=at)
        at += array.nbytes
        yield array.astype(np.int64)


def _status_to_json(status: Status) -> list[Any]:
    return [str(status.code), list(status.reasons), status.plugin, status.simulated]


def _facts_to_json(explanation: Explanation) -> Json:
    """Return the facts of all statuses. They stand apart so that the release before this one can read the rest."""
    return {
        "preEnqueue": explanation.pre_enqueue.facts,
        "preFilter": None if explanation.pre_filter is None else explanation.pre_filter.facts,
        "filters": [[status.facts for status in column.verdicts] for column in explanation.filters],
    }


def _read_status(parts: list[Any], stored_facts: list[Any] | None = None) -> Status:
    """Return a status. Without ``stored_facts`` it was stored before statuses had facts."""
    code, reasons, plugin, simulated = parts
    if stored_facts is None:
        stored_facts = [] if simulated else [reason.removeprefix(OUTSIDE) for reason in reasons]
    facts = tuple(tuple(fact) if isinstance(fact, list) else fact for fact in stored_facts)
    return Status(Code(code), tuple(reasons), plugin, simulated, facts)
