"""The table of prices of a cluster, as a document (docs/money.md).

apiVersion: kschedweb/v1
kind: PriceTable
currency: EUR
perNode: 0.1
prices:
  - instanceType: m.large
    capacityType: spot
    price: 0.04
  - labels: {pool: gpu}
    price: 3
commitments:
  - instanceType: m.large
    nodes: 10
    discount: 40
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kschedweb.engine.documents.leaves import Choice, DocumentProblem, Number, Problems, Text
from kschedweb.engine.documents.types import REQUIRED, Field, ListOf, MapOf, Struct
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.values import dataclass

VERSION, KIND = "kschedweb/v1", "PriceTable"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
OLD_INSTANCE_TYPE = "beta.kubernetes.io/instance-type"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
MOST_ENTRIES, MOST_PROBLEMS = 5_000, 100
HIGHEST = 1e6  # an hour

Labels = Mapping[str, str]


class TableError(ValueError):
    """A table that cannot be used; ``problems`` says where and why."""

    def __init__(self, problems: Sequence[DocumentProblem]) -> None:
        self.problems = list(problems[:MOST_PROBLEMS])
        super().__init__("; ".join(map(str, self.problems)))


@dataclass(frozen=True, slots=True)
class Match:
    """Which nodes are meant: all that is named has to hold."""

    instance_type: str = ""
    capacity_type: str = ""
    labels: Mapping[str, str] | None = None

    def holds(self, labels: Labels) -> bool:
        if self.instance_type and self.instance_type != instance_type(labels):
            return False
        if self.capacity_type and self.capacity_type != labels.get(CAPACITY_TYPE):
            return False
        return all(labels.get(key) == value for key, value in (self.labels or {}).items())


@dataclass(frozen=True, slots=True)
class Price:
    match: Match
    price: float  # an hour


@dataclass(frozen=True, slots=True)
class Commitment:
    """At any moment ``nodes`` of the nodes that match, the dearest first, cost ``discount`` percent less."""

    match: Match
    nodes: int
    discount: float


@dataclass(frozen=True, slots=True)
class Weights:
    """How a node's price is divided between its resources when it is told what pods cost."""

    cpu: float = 1.0
    memory: float = 1.0

    def shares(self) -> dict[str, float]:
        """The share of each resource; they add up to 1."""
        total = self.cpu + self.memory
        return {CPU: self.cpu / total, MEMORY: self.memory / total}


@dataclass(frozen=True, slots=True)
class PriceTable:
    """``prices``: the first that matches a node is its price. ``per_node`` is a fee an hour for each node that has one.

    ``currency`` is a word for people, such as EUR; nothing is converted. ``note`` is shown beside amounts.
    """

    currency: str
    prices: tuple[Price, ...]
    per_node: float = 0.0
    commitments: tuple[Commitment, ...] = ()
    weights: Weights = Weights()
    note: str = ""

    def entry(self, labels: Labels) -> int | None:
        """The position of the price of a node with these labels, ``None`` where there is none."""
        return next((place for place, one in enumerate(self.prices) if one.match.holds(labels)), None)


def instance_type(labels: Labels) -> str:
    return labels.get(INSTANCE_TYPE) or labels.get(OLD_INSTANCE_TYPE) or ""


def read(raw: Any) -> PriceTable:
    """The table in ``raw``, plain data. Raises TableError with every problem."""
    problems: list[DocumentProblem] = []
    table = DOCUMENT.read(raw, "", problems)
    if problems:
        raise TableError(problems)
    assert isinstance(table, PriceTable)
    return table


def _match(instance_type: str, capacity_type: str, labels: Mapping[str, str] | None) -> Match:
    if not (instance_type or capacity_type or labels):
        raise ValueError("must say which nodes it is about: instanceType, capacityType or labels")
    return Match(instance_type, capacity_type, labels)


def _price(price: float, **match: Any) -> Price:
    return Price(_match(**match), price)


def _commitment(nodes: int, discount: float, **match: Any) -> Commitment:
    return Commitment(_match(**match), nodes, discount)


def _weights(cpu: float, memory: float) -> Weights:
    if not cpu + memory:
        raise ValueError("must not both be 0")
    return Weights(cpu, memory)


def _table(api_version: str, kind: str, **fields: Any) -> PriceTable:
    return PriceTable(**fields)


class _Prices(ListOf):
    """Prices of which each can hold: none is about the same nodes as an earlier one."""

    def read(self, raw: Any, path: str, problems: Problems) -> tuple[Price, ...]:
        found = super().read(raw, path, problems)
        seen: dict[Any, int] = {}
        for place, one in enumerate(found):
            if one is None:
                continue
            key = (one.match.instance_type, one.match.capacity_type, frozenset((one.match.labels or {}).items()))
            first = seen.setdefault(key, place)
            if first != place:
                said = f"is about the same nodes as {path}[{first}]: remove one of them"
                problems.append(DocumentProblem(f"{path}[{place}]", said))
        return found


_NODES = (
    Field("instanceType", Text(most=253), f"The nodes' label {INSTANCE_TYPE}.", ""),
    Field(
        "capacityType",
        Choice(("on-demand", "spot", "reserved")),
        f"The nodes' label {CAPACITY_TYPE}; for other labels use labels.",
        "",
    ),
    Field("labels", MapOf(Text(most=63)), "Labels that the nodes have, all of them."),
)
_WEIGHT = Number(0, 1000)
DOCUMENT = Struct(
    "PriceTable",
    "What the nodes of a cluster cost an hour.",
    (
        Field("apiVersion", Choice((VERSION,)), "The form of this document.", REQUIRED),
        Field("kind", Choice((KIND,)), "What this document is.", REQUIRED),
        Field("currency", Text(1, 12, r"\S+", "one word, such as EUR"), "A word for people, such as EUR.", REQUIRED),
        Field("note", Text(most=200), "A note that is shown beside amounts, such as where the prices are from.", ""),
        Field("perNode", Number(0, HIGHEST), "A fee an hour for each node, which no commitment lowers.", 0.0),
        Field(
            "prices",
            _Prices(
                Struct(
                    "Price",
                    "What some nodes cost.",
                    (*_NODES, Field("price", Number(0, HIGHEST), "Price of one node an hour.", REQUIRED)),
                    make=_price,
                ),
                most=MOST_ENTRIES,
            ),
            "The first entry that matches a node is its price.",
            (),
        ),
        Field(
            "commitments",
            ListOf(
                Struct(
                    "Commitment",
                    "A discount for a number of nodes.",
                    (
                        *_NODES,
                        Field("nodes", Number(1, 1_000_000, whole=True), "How many nodes at a time.", REQUIRED),
                        Field("discount", Number(0, 100), "Percent of the price.", REQUIRED),
                    ),
                    make=_commitment,
                ),
                most=MOST_ENTRIES,
            ),
            "Discounts; a node has at most one, of the first commitment that covers it.",
            (),
        ),
        Field(
            "weights",
            Struct(
                "Weights",
                "How a node's price is divided between its resources.",
                (
                    Field("cpu", _WEIGHT, "Weight of CPU.", 1.0),
                    Field("memory", _WEIGHT, "Weight of memory.", 1.0),
                ),
                make=_weights,
            ),
            "How a node's price is divided between CPU and memory to tell what pods cost; equally if absent.",
            Weights(),
        ),
    ),
    make=_table,
)
# As a part of another document, which says itself what it is.
_USUAL = {"apiVersion": VERSION, "kind": KIND}
PART = replace(
    DOCUMENT, fields=tuple(replace(one, default=_USUAL.get(one.name, one.default)) for one in DOCUMENT.fields)
)
