"""The search for weights: which arguments and weights make the nodes' use most even on a recording.

An evolution of small steps: the best candidates so far are changed a little and crossed, and whoever is better stays.
It is deterministic given its seed, goes on where a journal ends, and can ask for a whole generation at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from kschedweb.engine.experiment.policies import HHE, Document, profile, text
from kschedweb.engine.values import dataclass

Genes = dict[str, float]
# Costs of the candidates of a generation, in their order; less is better.
Evaluate = Callable[[Sequence[Document]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Gene:
    """A number between ``least`` and ``most``; ``step`` is what it is rounded to, ``usual`` what one begins with.

    ``chance`` is how often it is ``usual`` in a candidate made up at random.
    """

    name: str
    least: float
    most: float
    step: float
    usual: float
    chance: float = 0.25

    def rounded(self, value: float) -> float:
        return float(np.round(min(max(value, self.least), self.most) / self.step) * self.step)


GENES = (
    Gene("weight", 1, 20, 1, 1),
    Gene("fit", 0, 10, 1, 1),
    Gene("balanced", 0, 5, 1, 1),
    Gene("spread", 0, 5, 1, 2),
    Gene("15m", 0.0, 1.0, 0.1, 0.5),
    Gene("1h", 0.0, 1.0, 0.1, 0.3),
    Gene("1d", 0.0, 1.0, 0.1, 0.2),
    Gene("minNode", 0.0, 3.0, 0.1, 0.2),
    Gene("level", 0, 90, 5, 0, 0.6),  # 0: the cluster's own level
    Gene("cleanUp", 60, 7200, 60, 300),  # seconds
    Gene("packing", 0, 5, 1, 0, 0.6),
    Gene("variation", 0, 5, 1, 0, 0.6),
)
# What one would try first, beside the usual values: more weight, the short window alone, a lower level.
BEGINNINGS: tuple[Genes, ...] = ({}, {"weight": 3}, {"weight": 3, "1h": 0.0, "1d": 0.0}, {"weight": 3, "minNode": 1.0})


def document(genes: Mapping[str, float]) -> Document:
    """The profile that the genes stand for."""
    windows = {window: round(genes[window], 3) for window in ("15m", "1h", "1d")}
    if not any(windows.values()):
        windows = {"15m": 1.0}
    args: dict[str, Any] = {
        "clusterCpuMinNodeWeight": round(genes["minNode"], 3),
        "windowWeights": windows,
        "scheduledPodsCleanUp": f"{round(genes['cleanUp'])}s",
    }
    if genes["level"]:
        args["clusterCpu"] = genes["level"]
    weights = {
        HHE: round(genes["weight"]),
        "NodeResourcesFit": round(genes["fit"]),
        "NodeResourcesBalancedAllocation": round(genes["balanced"]),
        "PodTopologySpread": round(genes["spread"]),
    }
    others = {"TargetLoadPacking": round(genes["packing"]), "LoadVariationRiskBalancing": round(genes["variation"])}
    weights |= {name: weight for name, weight in others.items() if weight}
    return profile(weights, {HHE: args})


@dataclass(frozen=True, slots=True)
class FoundCandidate:
    """A candidate and its cost."""

    generation: int
    cost: float
    genes: Genes

    def to_dict(self) -> dict[str, Any]:
        return {"generation": self.generation, "cost": self.cost, "genes": self.genes}


def search(
    evaluate: Evaluate,
    *,
    seed: int,
    generations: int = 8,
    size: int = 12,
    known: Iterable[tuple[Document, float]] = (),
    told: Callable[[FoundCandidate], None] | None = None,
) -> list[FoundCandidate]:
    """All candidates, the best first. The first generation has ``BEGINNINGS`` and random ones.

    ``known`` are costs of earlier runs: candidates among them are not evaluated again, so that a search with the same
    seed goes on where it was stopped. ``told`` hears of each candidate once its cost is there.
    """
    generator = np.random.default_rng(seed)
    costs = {text(one): cost for one, cost in known}
    found: list[FoundCandidate] = []
    for generation in range(generations):
        candidates = _first(generator, size) if not generation else _next(generator, found, size)
        documents = [document(genes) for genes in candidates]
        new = {text(one): one for one in documents if text(one) not in costs}
        if new:
            costs.update(zip(new, evaluate(list(new.values())), strict=True))
        for genes, one in zip(candidates, documents, strict=True):
            found.append(FoundCandidate(generation, costs[text(one)], genes))
            if told is not None:
                told(found[-1])
    return sorted(found, key=lambda one: one.cost)


def _first(generator: np.random.Generator, size: int) -> list[Genes]:
    usual = {gene.name: gene.usual for gene in GENES}
    known = [{**usual, **other} for other in BEGINNINGS][:size]
    return [*known, *(_random(generator) for _ in range(size - len(known)))]


def _random(generator: np.random.Generator) -> Genes:
    genes = {}
    for gene in GENES:
        usual, value = generator.uniform() < gene.chance, generator.uniform(gene.least, gene.most)
        genes[gene.name] = gene.usual if usual else gene.rounded(float(value))
    return genes


def _next(generator: np.random.Generator, found: Sequence[FoundCandidate], size: int) -> list[Genes]:
    """Children of the best quarter, and one in eight that is made up at random."""
    parents = _distinct(sorted(found, key=lambda one: one.cost))[: max(2, size // 4)]
    strangers = max(1, size // 8)
    children = [_child(generator, parents) for _ in range(size - strangers)]
    return [*children, *(_random(generator) for _ in range(strangers))]


def _distinct(found: Iterable[FoundCandidate]) -> list[Genes]:
    by_text: dict[str, Genes] = {}
    for one in found:
        by_text.setdefault(text(document(one.genes)), one.genes)
    return list(by_text.values())


def _child(generator: np.random.Generator, parents: Sequence[Genes]) -> Genes:
    mother, father = (parents[int(generator.integers(len(parents)))] for _ in range(2))
    child = {}
    for gene in GENES:
        value = (mother if generator.uniform() < 0.5 else father)[gene.name]
        changes, far = generator.uniform() < 0.3, generator.normal(0.0, (gene.most - gene.least) / 6.0)
        child[gene.name] = gene.rounded(value + float(far)) if changes else value
    return child
