"""Chooses the next points of a search with Optuna's ask and tell. The study is rebuilt from the database's trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.engine.studies.search.space import Dimension, Point, Space

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

TPE, NSGA2 = "tpe", "nsga2"
BEGINNING = 10  # trials before TPE learns from them
POPULATION = 20
WALK = 500  # most steps from a tried point to an untried one


@dataclass(frozen=True)
class KnownTrial:
    """A known trial: ``values`` of the objectives, ``None`` if it is not done; ``notes`` of the sampler."""

    point: Point
    values: list[float] | None
    failed: bool = False
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SuggestedTrial:
    point: Point
    notes: dict[str, Any]


def ask(
    space: Space, directions: Sequence[str], known: Sequence[KnownTrial], *, method: str, seed: int, count: int
) -> list[SuggestedTrial]:
    """Up to ``count`` points that are not in ``known``; fewer if hardly any are left.

    A sampler repeats good points; then an untried point nearby is taken instead. ``directions`` are lower or higher,
    one for each objective. The result depends only on the arguments.
    """
    import optuna  # takes half a second, and only workers need it

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        directions=["minimize" if one == "lower" else "maximize" for one in directions],
        sampler=_sampler(method, seed + len(known)),
    )
    distributions = {one.path: _distribution(one) for one in space.dimensions}
    for one in known:
        if space.holds(one.point):
            with suppress(ValueError):  # The base policy may lie between two steps.
                study.add_trial(_told(space, one, distributions))
    seen = {_key(one.point) for one in known}
    found: list[SuggestedTrial] = []
    generator = np.random.default_rng(seed + len(known))
    for _ in range(count):
        trial = study.ask(distributions)
        asked = tuple(_plain(one, trial.params[one.path]) for one in space.dimensions)
        point = _beside(space, asked, seen, generator)
        if point is None:
            break
        seen.add(_key(point))
        found.append(SuggestedTrial(point, dict(study.get_trials(deepcopy=False)[trial.number].system_attrs)))
    return found


def _beside(space: Space, point: Point, seen: set[Any], generator: np.random.Generator) -> Point | None:
    """``point``, or the first untried one on a random walk from it; ``None`` if the walk finds none."""
    for _ in range(WALK):
        if _key(point) not in seen:
            return point
        place = int(generator.integers(len(point)))
        point = (*point[:place], _neighbour(space.dimensions[place], point[place], generator), *point[place + 1 :])
    return None


def _neighbour(one: Dimension, value: Any, generator: np.random.Generator) -> Any:
    """A random neighbour of ``value`` in the grid; any value of choices and of continuous ranges."""
    if one.choices:
        return one.choices[int(generator.integers(len(one.choices)))]
    if not one.whole and one.step is None:
        return one.rounded(float(generator.uniform(one.low, one.high)))
    step = one.step or 1
    beside = [value + way * step for way in (-1, 1) if one.low <= value + way * step <= one.high]
    return one.rounded(float(beside[int(generator.integers(len(beside)))])) if beside else value


def _sampler(method: str, seed: int) -> BaseSampler:
    import optuna

    if method == NSGA2:
        return optuna.samplers.NSGAIISampler(population_size=POPULATION, seed=seed)
    # constant_liar treats unfinished trials as bad, so that workers do not all try the same region.
    return optuna.samplers.TPESampler(n_startup_trials=BEGINNING, constant_liar=True, seed=seed)


def _distribution(one: Dimension) -> BaseDistribution:
    from optuna import distributions

    if one.choices:
        return distributions.CategoricalDistribution(one.choices)
    high = one.high
    if one.step is not None:  # Optuna requires an end that is a whole number of steps away.
        high = one.rounded(one.low + math.floor((one.high - one.low) / one.step + 1e-9) * one.step)
    if one.whole:
        return distributions.IntDistribution(int(one.low), int(high), log=one.log, step=int(one.step or 1))
    return distributions.FloatDistribution(one.low, high, log=one.log, step=one.step)


def _told(space: Space, one: KnownTrial, distributions: dict[str, BaseDistribution]) -> FrozenTrial:
    from optuna.trial import TrialState, create_trial

    params = {dimension.path: value for dimension, value in zip(space.dimensions, one.point, strict=True)}
    state = TrialState.COMPLETE if one.values else TrialState.FAIL if one.failed else TrialState.RUNNING
    return create_trial(
        params=params, distributions=distributions, values=one.values, state=state, system_attrs=one.notes
    )


def _plain(dimension: Dimension, value: Any) -> Any:
    return value if dimension.choices else dimension.rounded(value)


def _key(point: Point) -> tuple[Any, ...]:
    return tuple((isinstance(value, bool), value) for value in point)
