"""Choose the next points of a search with Optuna's ask and tell. The study is rebuilt from the database's trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.search.space import Dimension, Point, Space

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

# Values of models.Method; this module does not import Django's models.
TPE, NSGA2 = "tpe", "nsga2"
# Random trials before TPE begins to learn (n_startup_trials).
BEGINNING = 10
# Size of a generation of NSGA-II; with Optuna's default of 50, a sweep of 100 trials would have only two.
POPULATION = 20
# Most steps from a point that was tried to one that was not.
WALK = 500


@dataclass(frozen=True)
class KnownTrial:
    """A trial that exists already."""

    point: Point
    # Values of the objectives; None while it is not done.
    values: list[float] | None
    failed: bool = False
    # System attributes of the sampler, which NSGA-II needs to know the generation.
    notes: Json = field(default_factory=dict)


@dataclass(frozen=True)
class SuggestedTrial:
    """A point to try next, with the sampler's notes."""

    point: Point
    notes: Json


def suggest_trials(
    space: Space, directions: Sequence[str], known_trials: Sequence[KnownTrial], *, method: str, seed: int, count: int
) -> list[SuggestedTrial]:
    """Return up to ``count`` points that are not in ``known_trials``; fewer if hardly any are left.

    A sampler repeats good points; an untried point nearby then takes the place of the repetition. ``directions`` has
    "lower" or "higher" for each objective. The result depends on the arguments only.
    """
    # The import takes half a second, and only workers need it.
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        directions=["minimize" if direction == "lower" else "maximize" for direction in directions],
        # A new study is made for each call, so the number of trials varies its seed: else every call would draw the
        # same.
        sampler=_make_sampler(method, seed + len(known_trials)),
    )
    distributions = {dimension.path: _make_distribution(dimension) for dimension in space.dimensions}
    for known_trial in known_trials:
        if space.can_hold(known_trial.point):
            with suppress(ValueError):  # The base policy may lie between two steps.
                study.add_trial(_frozen_trial(space, known_trial, distributions))
    used_keys = {_point_key(known_trial.point) for known_trial in known_trials}
    suggestions: list[SuggestedTrial] = []
    generator = np.random.default_rng(seed + len(known_trials))
    for _ in range(count):
        trial = study.ask(distributions)
        proposal = tuple(_to_plain(dimension, trial.params[dimension.path]) for dimension in space.dimensions)
        point = _find_untried(space, proposal, used_keys, generator)
        if point is None:
            break
        used_keys.add(_point_key(point))
        suggestions.append(SuggestedTrial(point, dict(study.get_trials(deepcopy=False)[trial.number].system_attrs)))
    return suggestions


def _find_untried(space: Space, point: Point, used_keys: set[Any], generator: np.random.Generator) -> Point | None:
    """Return ``point``, or the first untried point on a random walk from it; ``None`` if the walk finds none."""
    for _ in range(WALK):
        if _point_key(point) not in used_keys:
            return point
        place = int(generator.integers(len(point)))
        point = (
            *point[:place],
            _random_neighbour(space.dimensions[place], point[place], generator),
            *point[place + 1 :],
        )
    return None


def _random_neighbour(dimension: Dimension, value: Any, generator: np.random.Generator) -> Any:
    """Return a random neighbour of ``value`` in the grid; any value for choices and continuous ranges."""
    if dimension.choices:
        return dimension.choices[int(generator.integers(len(dimension.choices)))]
    if not dimension.whole and dimension.step is None:
        return dimension.round_value(float(generator.uniform(dimension.low, dimension.high)))
    step = dimension.step or 1
    neighbours = [value + way * step for way in (-1, 1) if dimension.low <= value + way * step <= dimension.high]
    return dimension.round_value(float(neighbours[int(generator.integers(len(neighbours)))])) if neighbours else value


def _make_sampler(method: str, seed: int) -> BaseSampler:
    import optuna

    if method == NSGA2:
        return optuna.samplers.NSGAIISampler(population_size=POPULATION, seed=seed)
    # constant_liar treats unfinished trials as bad, so that workers do not all try the same region.
    return optuna.samplers.TPESampler(n_startup_trials=BEGINNING, constant_liar=True, seed=seed)


def _make_distribution(dimension: Dimension) -> BaseDistribution:
    """Return Optuna's distribution of a dimension."""
    from optuna import distributions

    if dimension.choices:
        return distributions.CategoricalDistribution(dimension.choices)
    high = dimension.high
    if dimension.step is not None:  # Optuna requires an end that is a whole number of steps away.
        # The small addend keeps the last step where the division falls just below a whole number.
        high = dimension.round_value(
            dimension.low + math.floor((dimension.high - dimension.low) / dimension.step + 1e-9) * dimension.step
        )
    if dimension.whole:
        return distributions.IntDistribution(
            int(dimension.low), int(high), log=dimension.log, step=int(dimension.step or 1)
        )
    return distributions.FloatDistribution(dimension.low, high, log=dimension.log, step=dimension.step)


def _frozen_trial(space: Space, known_trial: KnownTrial, distributions: dict[str, BaseDistribution]) -> FrozenTrial:
    """Return a known trial as Optuna stores it."""
    from optuna.trial import TrialState, create_trial

    params = {dimension.path: value for dimension, value in zip(space.dimensions, known_trial.point, strict=True)}
    # A trial that others still run is told as running, which constant_liar takes into account.
    state = TrialState.COMPLETE if known_trial.values else TrialState.FAIL if known_trial.failed else TrialState.RUNNING
    return create_trial(
        params=params,
        distributions=distributions,
        values=known_trial.values,
        state=state,
        system_attrs=known_trial.notes,
    )


def _to_plain(dimension: Dimension, value: Any) -> Any:
    return value if dimension.choices else dimension.round_value(value)


def _point_key(point: Point) -> tuple[Any, ...]:
    """Return a key that equals that of the same point only."""
    # True equals 1 in Python, but is another point.
    return tuple((isinstance(value, bool), value) for value in point)
