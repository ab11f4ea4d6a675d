"""Search for weights: the arguments and weights that make the nodes' use most even on a recording.

It is an evolution of small steps: the best candidates so far are changed a little and crossed, and the better ones
stay. It is deterministic given its seed, goes on where a journal ends, and can ask for a whole generation at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from kschedweb.engine.experiment.policies import HHE, create_profile, to_text
from kschedweb.engine.json_types import Json
from kschedweb.engine.values import dataclass

Genes = dict[str, float]
# Returns the costs of the candidates of a generation, in their order; less is better.
Evaluate = Callable[[Sequence[Json]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Gene:
    """A number that the search varies."""

    name: str
    # Both ends are possible values.
    lowest: float
    highest: float
    # Values are rounded to multiples of it.
    step: float
    # The value of the first candidates.
    usual: float
    # Probability of `usual` in a random candidate.
    chance: float = 0.25

    def round_value(self, value: float) -> float:
        return float(np.round(min(max(value, self.lowest), self.highest) / self.step) * self.step)


GENES = (
    Gene("weight", 1, 20, 1, 1),
    Gene("fit", 0, 10, 1, 1),
    Gene("balanced", 0, 5, 1, 1),
    Gene("spread", 0, 5, 1, 2),
    Gene("15m", 0.0, 1.0, 0.1, 0.5),
    Gene("1h", 0.0, 1.0, 0.1, 0.3),
    Gene("1d", 0.0, 1.0, 0.1, 0.2),
    Gene("minNode", 0.0, 3.0, 0.1, 0.2),
    # 0 is the cluster's own level.
    Gene("level", 0, 90, 5, 0, 0.6),
    # Seconds.
    Gene("cleanUp", 60, 7200, 60, 300),
    Gene("packing", 0, 5, 1, 0, 0.6),
    Gene("variation", 0, 5, 1, 0, 0.6),
)
# Plausible candidates beside the usual values: more weight, the short window alone, a lower level.
BEGINNINGS: tuple[Genes, ...] = ({}, {"weight": 3}, {"weight": 3, "1h": 0.0, "1d": 0.0}, {"weight": 3, "minNode": 1.0})


def create_document(genes: Mapping[str, float]) -> Json:
    """Return the profile for the genes."""
    windows = {window: round(genes[window], 3) for window in ("15m", "1h", "1d")}
    if not any(windows.values()):
        windows = {"15m": 1.0}
    args: Json = {
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
    other_weights = {
        "TargetLoadPacking": round(genes["packing"]),
        "LoadVariationRiskBalancing": round(genes["variation"]),
    }
    weights |= {name: weight for name, weight in other_weights.items() if weight}
    return create_profile(weights, {HHE: args})


@dataclass(frozen=True, slots=True)
class FoundCandidate:
    """A candidate and its cost."""

    generation: int
    cost: float
    genes: Genes

    def to_dict(self) -> Json:
        return {"generation": self.generation, "cost": self.cost, "genes": self.genes}


def search_weights(
    evaluate: Evaluate,
    *,
    seed: int,
    generations: int = 8,
    size: int = 12,
    known_costs: Iterable[tuple[Json, float]] = (),
    on_candidate: Callable[[FoundCandidate], None] | None = None,
) -> list[FoundCandidate]:
    """Return all candidates, the best first. The first generation has ``BEGINNINGS`` and random candidates.

    ``known_costs`` are costs of earlier runs: candidates among them are not evaluated again, so that a search with the
    same seed goes on where it was stopped. ``on_candidate`` gets each candidate when its cost is known.
    """
    generator = np.random.default_rng(seed)
    costs = {to_text(document): cost for document, cost in known_costs}
    evaluated: list[FoundCandidate] = []
    for generation in range(generations):
        candidates = (
            _first_generation(generator, size) if not generation else _next_generation(generator, evaluated, size)
        )
        documents = [create_document(genes) for genes in candidates]
        new = {to_text(document): document for document in documents if to_text(document) not in costs}
        if new:
            costs.update(zip(new, evaluate(list(new.values())), strict=True))
        for genes, document in zip(candidates, documents, strict=True):
            evaluated.append(FoundCandidate(generation, costs[to_text(document)], genes))
            if on_candidate is not None:
                on_candidate(evaluated[-1])
    return sorted(evaluated, key=lambda candidate: candidate.cost)


def _first_generation(generator: np.random.Generator, size: int) -> list[Genes]:
    usual = {gene.name: gene.usual for gene in GENES}
    beginnings = [{**usual, **other} for other in BEGINNINGS][:size]
    return [*beginnings, *(_random_genes(generator) for _ in range(size - len(beginnings)))]


def _random_genes(generator: np.random.Generator) -> Genes:
    genes = {}
    for gene in GENES:
        # Both numbers are always drawn, so that a gene does not shift the random numbers of the next.
        usual, value = generator.uniform() < gene.chance, generator.uniform(gene.lowest, gene.highest)
        genes[gene.name] = gene.usual if usual else gene.round_value(float(value))
    return genes


def _next_generation(generator: np.random.Generator, evaluated: Sequence[FoundCandidate], size: int) -> list[Genes]:
    """Return children of the best quarter, and one random candidate in eight."""
    parents = _distinct_genes(sorted(evaluated, key=lambda candidate: candidate.cost))[: max(2, size // 4)]
    strangers = max(1, size // 8)
    children = [_breed_child(generator, parents) for _ in range(size - strangers)]
    return [*children, *(_random_genes(generator) for _ in range(strangers))]


def _distinct_genes(candidates: Iterable[FoundCandidate]) -> list[Genes]:
    by_text: dict[str, Genes] = {}
    for candidate in candidates:
        by_text.setdefault(to_text(create_document(candidate.genes)), candidate.genes)
    return list(by_text.values())


def _breed_child(generator: np.random.Generator, parents: Sequence[Genes]) -> Genes:
    mother, father = (parents[int(generator.integers(len(parents)))] for _ in range(2))
    child = {}
    for gene in GENES:
        value = (mother if generator.uniform() < 0.5 else father)[gene.name]
        # Both numbers are always drawn, as in `_random_genes`.
        changes, far = generator.uniform() < 0.3, generator.normal(0.0, (gene.highest - gene.lowest) / 6.0)
        child[gene.name] = gene.round_value(value + float(far)) if changes else value
    return child
