"""The document with a cluster's price table (docs/money.md).

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

from kschedweb.engine.documents.leaves import DocumentProblem, EnumChoice, Number, Problems, Text
from kschedweb.engine.documents.types import REQUIRED, ListType, MapType, Struct, StructField
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.values import dataclass

VERSION, KIND = "kschedweb/v1", "PriceTable"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
OLD_INSTANCE_TYPE = "beta.kubernetes.io/instance-type"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
MOST_ENTRIES, MOST_PROBLEMS = 5_000, 100
# The most expensive price an hour that a table may have.
HIGHEST = 1e6

Labels = Mapping[str, str]


class TableError(ValueError):
    """A table that cannot be used; ``problems`` has the places and reasons."""

    def __init__(self, problems: Sequence[DocumentProblem]) -> None:
        self.problems = list(problems[:MOST_PROBLEMS])
        super().__init__("; ".join(map(str, self.problems)))


@dataclass(frozen=True, slots=True)
class Match:
    """A selection of nodes: everything that is named has to hold."""

    instance_type: str = ""
    capacity_type: str = ""
    labels: Mapping[str, str] | None = None

    def matches(self, labels: Labels) -> bool:
        if self.instance_type and self.instance_type != instance_type(labels):
            return False
        if self.capacity_type and self.capacity_type != labels.get(CAPACITY_TYPE):
            return False
        return all(labels.get(key) == value for key, value in (self.labels or {}).items())


@dataclass(frozen=True, slots=True)
class Price:
    match: Match
    # An hour.
    price: float


@dataclass(frozen=True, slots=True)
class Commitment:
    """A discount for ``nodes`` of the nodes that match, at any moment the most expensive ones."""

    match: Match
    nodes: int
    # Per cent of the price.
    discount: float


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights that divide a node's price between its resources, for the cost of pods."""

    cpu: float = 1.0
    memory: float = 1.0

    def compute_shares(self) -> dict[str, float]:
        """Return the share of each resource; they add up to 1."""
        total = self.cpu + self.memory
        return {CPU: self.cpu / total, MEMORY: self.memory / total}


@dataclass(frozen=True, slots=True)
class PriceTable:
    """A table of prices."""

    # A word for people, such as EUR; nothing is converted.
    currency: str
    # The first that matches a node is its price.
    prices: tuple[Price, ...]
    # A fee an hour for each node that has a price.
    per_node: float = 0.0
    commitments: tuple[Commitment, ...] = ()
    weights: Weights = Weights()
    # Shown beside amounts.
    note: str = ""

    def find_entry(self, labels: Labels) -> int | None:
        """Return the position of the price of a node with these labels, None if there is none."""
        return next((place for place, price in enumerate(self.prices) if price.match.matches(labels)), None)


def instance_type(labels: Labels) -> str:
    return labels.get(INSTANCE_TYPE) or labels.get(OLD_INSTANCE_TYPE) or ""


def read_price_table(raw: Any) -> PriceTable:
    """Read a table from plain data. Raises TableError with every problem."""
    problems: list[DocumentProblem] = []
    table = DOCUMENT.read(raw, "", problems)
    if problems:
        raise TableError(problems)
    assert isinstance(table, PriceTable)
    return table


def _create_match(instance_type: str, capacity_type: str, labels: Mapping[str, str] | None) -> Match:
    if not (instance_type or capacity_type or labels):
        raise ValueError("must say which nodes it is about: instanceType, capacityType or labels")
    return Match(instance_type, capacity_type, labels)


def _create_price(price: float, **match: Any) -> Price:
    return Price(_create_match(**match), price)


def _create_commitment(nodes: int, discount: float, **match: Any) -> Commitment:
    return Commitment(_create_match(**match), nodes, discount)


def _create_weights(cpu: float, memory: float) -> Weights:
    if not cpu + memory:
        raise ValueError("must not both be 0")
    return Weights(cpu, memory)


def _create_table(api_version: str, kind: str, **fields: Any) -> PriceTable:
    return PriceTable(**fields)


class _Prices(ListType):
    """A list of prices in which each can apply: no entry is about the same nodes as an earlier one."""

    def read(self, raw: Any, path: str, problems: Problems) -> tuple[Price, ...]:
        prices = super().read(raw, path, problems)
        first_places: dict[Any, int] = {}
        for place, price in enumerate(prices):
            if price is None:
                continue
            key = (price.match.instance_type, price.match.capacity_type, frozenset((price.match.labels or {}).items()))
            first = first_places.setdefault(key, place)
            if first != place:
                message = f"is about the same nodes as {path}[{first}]: remove one of them"
                problems.append(DocumentProblem(f"{path}[{place}]", message))
        return prices


_NODES = (
    StructField("instanceType", Text(max_length=253), f"The nodes' label {INSTANCE_TYPE}.", ""),
    StructField(
        "capacityType",
        EnumChoice(("on-demand", "spot", "reserved")),
        f"The nodes' label {CAPACITY_TYPE}; for other labels use labels.",
        "",
    ),
    StructField("labels", MapType(Text(max_length=63)), "Labels that the nodes have, all of them."),
)
_WEIGHT = Number(0, 1000)
DOCUMENT = Struct(
    "PriceTable",
    "What the nodes of a cluster cost an hour.",
    (
        StructField("apiVersion", EnumChoice((VERSION,)), "The form of this document.", REQUIRED),
        StructField("kind", EnumChoice((KIND,)), "What this document is.", REQUIRED),
        StructField(
            "currency", Text(1, 12, r"\S+", "one word, such as EUR"), "The currency to show, such as EUR.", REQUIRED
        ),
        StructField("note", Text(max_length=200), "A note shown beside amounts, such as the source of the prices.", ""),
        StructField("perNode", Number(0, HIGHEST), "A fee an hour for each node, which no commitment lowers.", 0.0),
        StructField(
            "prices",
            _Prices(
                Struct(
                    "Price",
                    "What some nodes cost.",
                    (*_NODES, StructField("price", Number(0, HIGHEST), "Price of one node an hour.", REQUIRED)),
                    make=_create_price,
                ),
                max_items=MOST_ENTRIES,
            ),
            "The first matching entry sets a node's price.",
            (),
        ),
        StructField(
            "commitments",
            ListType(
                Struct(
                    "Commitment",
                    "A discount for a number of nodes.",
                    (
                        *_NODES,
                        StructField("nodes", Number(1, 1_000_000, whole=True), "How many nodes at once.", REQUIRED),
                        StructField("discount", Number(0, 100), "Percent of the price.", REQUIRED),
                    ),
                    make=_create_commitment,
                ),
                max_items=MOST_ENTRIES,
            ),
            "Discounts; a node has at most one, of the first commitment that covers it.",
            (),
        ),
        StructField(
            "weights",
            Struct(
                "Weights",
                "How a node's price is divided between its resources.",
                (
                    StructField("cpu", _WEIGHT, "Weight of CPU.", 1.0),
                    StructField("memory", _WEIGHT, "Weight of memory.", 1.0),
                ),
                make=_create_weights,
            ),
            "How a node's price is divided between CPU and memory to tell what pods cost; equally if absent.",
            Weights(),
        ),
    ),
    make=_create_table,
)
# For a price table within another document, which has its own apiVersion and kind.
_USUAL = {"apiVersion": VERSION, "kind": KIND}
PART = replace(
    DOCUMENT, fields=tuple(replace(field, default=_USUAL.get(field.name, field.default)) for field in DOCUMENT.fields)
)
