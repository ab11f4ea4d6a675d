"""Answers about capacity as bytes, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TypeAlias

import numpy as np

from kschedweb.engine.studies.capacity.buffer import Buffer, Loss, Stranded
from kschedweb.engine.studies.capacity.capacity import Fit, FullReason
from kschedweb.engine.studies.capacity.drain import Block, NodeDrain, Rehearsal, Replacement, Stays
from kschedweb.engine.studies.capacity.gangs import DomainResult, GangFit
from kschedweb.engine.studies.capacity.sizing import NewNode, Sizing, Unfit
from kschedweb.jobs import inquiries
from kschedweb.playground.capacity.models import Kind

Found: TypeAlias = Fit | Sizing | Rehearsal | GangFit | Buffer
Json = dict[str, Any]


def packed(found: Found) -> bytes:
    return inquiries.packed(asdict(found), default=np.ndarray.tolist)


def unpacked(kind: str, content: bytes) -> Found:
    """The reverse of ``packed``."""
    plain = inquiries.unpacked(content)
    if kind == Kind.FIT:
        return _fit(plain)
    if kind == Kind.BUFFER:
        return _buffer(plain)
    if kind == Kind.GANGS:
        return _gangs(plain)
    return _sizing(plain) if kind == Kind.NODES else _rehearsal(plain)


def _rows(numbers: list[int]) -> Any:
    return np.array(numbers, dtype=np.intp)


def _fit(plain: Json) -> Fit:
    reasons = [FullReason(**{**one, "nodes": _rows(one["nodes"])}) for one in plain["reasons"]]
    return Fit(**{**plain, "order": _rows(plain["order"]), "reasons": reasons, "notes": tuple(plain["notes"])})


def _gangs(plain: Json) -> GangFit:
    results = tuple(DomainResult(**one) for one in plain["results"])
    order = _rows(plain["order"]).reshape(-1, plain["pods"])
    return GangFit(**{**plain, "order": order, "results": results, "notes": tuple(plain["notes"])})


def _buffer(plain: Json) -> Buffer:
    losses = tuple(
        Loss(**{**one, "nodes": tuple(one["nodes"]), "stranded": tuple(Stranded(**pod) for pod in one["stranded"])})
        for one in plain["losses"]
    )
    return Buffer(**{**plain, "losses": losses})


def _sizing(plain: Json) -> Sizing:
    read = {
        "tried": {int(added): left for added, left in plain["tried"].items()},
        "exceptions": tuple(plain["exceptions"]),
        "unfit": tuple(Unfit(**{**one, "pods": tuple(one["pods"])}) for one in plain["unfit"]),
        "nodes": tuple(NewNode(**one) for one in plain["nodes"]),
    }
    return Sizing(**{**plain, **read})


def _rehearsal(plain: Json) -> Rehearsal:
    return Rehearsal(tuple(map(_node, plain["nodes"])), plain["reordered"])


def _node(plain: Json) -> NodeDrain:
    parts = {"moves": Replacement, "blocks": Block, "stays": Stays}
    return NodeDrain(**{**plain, **{name: tuple(part(**one) for one in plain[name]) for name, part in parts.items()}})
