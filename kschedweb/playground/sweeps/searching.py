"""Which points a search tries next, by Optuna's ask and tell. Our rows are the truth: a study is made of them."""

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
WALK = 500  # steps from a point that was tried already to one that was not


@dataclass(frozen=True)
class KnownTrial:
    """A trial that is there: ``values`` are the objectives', ``None`` where it is not done; ``notes`` the search's."""

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
    """Up to ``count`` points that are not among ``known``; fewer where there is hardly anything new.

    A sampler names good points again and again; where it does, a point beside is taken that was not tried yet.
    ``directions`` are lower or higher, one an objective. ``seed`` and ``known`` decide what is asked for.
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
            with suppress(ValueError):  # The base policy may stand between two steps.
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
    """``point``, or the first on a random walk from it that was not tried; ``None`` where the walk finds none."""
    for _ in range(WALK):
        if _key(point) not in seen:
            return point
        place = int(generator.integers(len(point)))
        point = (*point[:place], _neighbour(space.dimensions[place], point[place], generator), *point[place + 1 :])
    return None


def _neighbour(one: Dimension, value: Any, generator: np.random.Generator) -> Any:
    """The value before or after, at an end the only one; of choices and of fractions without steps any."""
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
    # The liar takes trials that are not done yet for bad ones, so that workers do not all try the same place.
    return optuna.samplers.TPESampler(n_startup_trials=BEGINNING, constant_liar=True, seed=seed)


def _distribution(one: Dimension) -> BaseDistribution:
    from optuna import distributions

    if one.choices:
        return distributions.CategoricalDistribution(one.choices)
    high = one.high
    if one.step is not None:  # Optuna asks for an end that steps reach.
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
