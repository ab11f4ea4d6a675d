"""Answers about capacity as bytes, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TypeAlias

import numpy as np

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.capacity.buffer import Buffer, Loss, Stranded
from kschedweb.engine.studies.capacity.capacity import CapacityFit, FullReason
from kschedweb.engine.studies.capacity.drain import Block, NodeDrain, Rehearsal, Replacement, StayingPod
from kschedweb.engine.studies.capacity.gangs import DomainResult, GangFit
from kschedweb.engine.studies.capacity.sizing import NewNode, Sizing, Unfit
from kschedweb.engine.studies.trying.node_change import NodeChangeEffect, NodeLoad, PodPlace
from kschedweb.jobs import inquiries
from kschedweb.playground.capacity.models import CapacityKind

# Fields of `Sizing` that stored answers have by other names.
SIZING_KEYS = {"max_nodes": "most", "unplaced_by_nodes": "tried"}
CapacityAnswer: TypeAlias = CapacityFit | Sizing | Rehearsal | GangFit | Buffer | NodeChangeEffect


def pack_answer(answer: CapacityAnswer) -> bytes:
    """Return the answer as bytes of JSON; arrays of numpy become lists."""
    plain = asdict(answer)
    if isinstance(answer, Sizing):
        plain = {SIZING_KEYS.get(name, name): value for name, value in plain.items()}
    return inquiries.pack_answer(plain, default=np.ndarray.tolist)


def unpack_answer(kind: str, content: bytes) -> CapacityAnswer:
    """Return the answer from the bytes of ``pack_answer``."""
    plain = inquiries.unpack_answer(content)
    if kind == CapacityKind.FIT:
        return _fit_from_json(plain)
    if kind == CapacityKind.BUFFER:
        return _buffer_from_json(plain)
    if kind == CapacityKind.CHANGE:
        return _node_change_from_json(plain)
    if kind == CapacityKind.GANGS:
        return _gang_fit_from_json(plain)
    return _sizing_from_json(plain) if kind == CapacityKind.NODES else _rehearsal_from_json(plain)


def _to_index_array(numbers: list[int]) -> Any:
    # The engine indexes with these arrays, which have the type of numpy's own indices.
    return np.array(numbers, dtype=np.intp)


def _fit_from_json(plain: Json) -> CapacityFit:
    reasons = [FullReason(**{**reason, "nodes": _to_index_array(reason["nodes"])}) for reason in plain["reasons"]]
    return CapacityFit(
        **{**plain, "order": _to_index_array(plain["order"]), "reasons": reasons, "notes": tuple(plain["notes"])}
    )


def _gang_fit_from_json(plain: Json) -> GangFit:
    results = tuple(DomainResult(**result) for result in plain["results"])
    # JSON has a list of rows; without gangs it is empty, and the number of columns must be told.
    order = _to_index_array(plain["order"]).reshape(-1, plain["pods"])
    return GangFit(**{**plain, "order": order, "results": results, "notes": tuple(plain["notes"])})


def _buffer_from_json(plain: Json) -> Buffer:
    losses = tuple(
        Loss(**{**loss, "nodes": tuple(loss["nodes"]), "stranded": tuple(Stranded(**pod) for pod in loss["stranded"])})
        for loss in plain["losses"]
    )
    return Buffer(**{**plain, "losses": losses})


def _node_change_from_json(plain: Json) -> NodeChangeEffect:
    parts = {"pods": PodPlace, "nodes": NodeLoad}
    names = {name: tuple(plain[name]) for name in ("lost", "added", "unreplaced")}
    return NodeChangeEffect(
        **{**plain, **names, **{name: tuple(part(**row) for row in plain[name]) for name, part in parts.items()}}
    )


def _sizing_from_json(plain: Json) -> Sizing:
    plain = dict(plain)
    max_nodes, unplaced_by_nodes = (plain.pop(key) for key in SIZING_KEYS.values())
    read = {
        "max_nodes": max_nodes,
        # Keys of JSON are text.
        "unplaced_by_nodes": {int(added): unplaced for added, unplaced in unplaced_by_nodes.items()},
        "exceptions": tuple(plain["exceptions"]),
        "unfit": tuple(Unfit(**{**unfit, "pods": tuple(unfit["pods"])}) for unfit in plain["unfit"]),
        "nodes": tuple(NewNode(**node) for node in plain["nodes"]),
    }
    return Sizing(**{**plain, **read})


def _rehearsal_from_json(plain: Json) -> Rehearsal:
    return Rehearsal(tuple(map(_node_drain_from_json, plain["nodes"])), plain["reordered"])


def _node_drain_from_json(plain: Json) -> NodeDrain:
    parts = {"moves": Replacement, "blocks": Block, "stays": StayingPod}
    return NodeDrain(**{**plain, **{name: tuple(part(**row) for row in plain[name]) for name, part in parts.items()}})
