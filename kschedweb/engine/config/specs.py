"""The description of a plugin for configurations: its extension points and its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any, TypeAlias, TypedDict

from kschedweb.engine.config.schema import EXTENSION_POINTS, GROUP_POINTS
from kschedweb.engine.config.types import Struct
from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.fields import Problem
from kschedweb.engine.values import dataclass

# The decoded arguments of a plugin by field, as the struct of its ``ArgsSpec`` declares them.
PluginArgs: TypeAlias = Json
# Creates a plugin from its arguments.
PluginFactory: TypeAlias = Callable[[PluginArgs], Any]


@dataclass(frozen=True)
class PluginRef:
    """A plugin at an extension point."""

    name: str
    # Counts at score only; 0 elsewhere.
    weight: int = 0


def _no_defaults(args: PluginArgs) -> None:
    """Set no default."""


def _no_problems(args: PluginArgs, path: str) -> list[Problem]:
    return []


def _no_advice(args: PluginArgs) -> list[tuple[str, str]]:
    return []


@dataclass(frozen=True)
class PointedFile:
    """A file that arguments point at."""

    # Name of the field that holds the file's path.
    path: str
    # Name of the field that takes the file's contents, unless it is written out.
    into: str
    # Returns the decoded value of ``into`` from the file's text. Raises document.RefusedError.
    read: Callable[[str], Any]


@dataclass(frozen=True)
class ArgsSpec:
    """The arguments of a plugin."""

    struct: Struct
    # Changes the decoded arguments in place.
    set_defaults: Callable[[PluginArgs], None] = _no_defaults
    # Returns the errors of (arguments, path).
    problems: Callable[[PluginArgs, str], list[Problem]] = _no_problems
    # Checked only if the plugin is enabled, with paths from the arguments' root.
    when_created: bool = False
    # Returns (field, sentence) for written arguments, before defaults, that are ignored.
    advice: Callable[[PluginArgs], list[tuple[str, str]]] = _no_advice
    file: PointedFile | None = None

    @property
    def kind(self) -> str:
        return self.struct.short_name


def _no_args(nodes: Sequence[str]) -> PluginArgs:
    return {}


@dataclass(frozen=True)
class PluginTrial:
    """A trial of a load-aware plugin beside the defaults in an experiment."""

    # Name of the trial.
    name: str
    weight: int = 1
    # Returns the arguments for nodes with these names.
    args: Callable[[Sequence[str]], PluginArgs] = _no_args
    # Weights of the plugins that it adds to.
    companion_weights: Mapping[str, int] = field(default_factory=dict)
    # A few words, if the plugin's name and its weight do not say it.
    title: str = ""


class PluginVariant(TypedDict, total=False):
    """The fields of a ``PluginSpec`` that are different in a release."""

    points: frozenset[str]
    args: ArgsSpec
    gate: str
    gated_points: Mapping[str, str]
    factory: PluginFactory | None


def _as_it_is(release: Any) -> PluginVariant:
    return {}


@dataclass(frozen=True)
class PluginSpec:
    """A plugin as a module of ``kschedweb.engine.plugins``, or another package, registers it."""

    name: str
    # The extension points that it implements.
    points: frozenset[str]
    help: str
    # Its arguments, of kind ``<name>Args``.
    args: ArgsSpec | None = None
    # The feature gate without which it does nothing.
    gate: str = ""
    # Extension points at which it is off by default while a feature gate is off, each with that gate.
    gated_points: Mapping[str, str] = field(default_factory=dict)
    # Creates the plugin from its arguments; ``None`` for a plugin that decides nothing here.
    factory: PluginFactory | None = None
    # The scheduler that it comes from; "" for kube-scheduler.
    origin: str = ""
    # It weighs what nodes really use.
    load_aware: bool = False
    # Place among the plugins with an origin, lowest first.
    rank: int = 100
    # The trials that experiments run with it.
    trials: tuple[PluginTrial, ...] = ()
    # Takes a ``Release`` and returns the fields that differ in it.
    variant: Callable[[Any], PluginVariant] = _as_it_is

    def as_in(self, release: Any) -> PluginSpec:
        """Return the plugin as it is in ``release``."""
        return replace(self, **self.variant(release))

    @property
    def experiment_trials(self) -> tuple[PluginTrial, ...]:
        """Its trials. Each load-aware plugin that scores has at least one."""
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", self.name).lower()
        return self.trials or ((PluginTrial(name),) if self.load_aware and "score" in self.points else ())

    def validate_points(self) -> None:
        """Check the extension points. Raises ValueError if one does not exist."""
        if unknown := self.points - {*EXTENSION_POINTS, *GROUP_POINTS}:
            raise ValueError(f"plugin {self.name!r} names extension points that do not exist: {sorted(unknown)}")


class PluginError(Exception):
    """A plugin of another package that cannot be used; the text names it and says why."""


class Registry:
    """The plugins that a configuration may name, and the default set in its order.

    ``more`` gives further plugins. It is called only when a plugin outside ``specs`` is named, or all are wanted.
    """

    def __init__(
        self,
        specs: Iterable[PluginSpec],
        defaults: tuple[PluginRef, ...],
        more: Callable[[], Iterable[PluginSpec]] = tuple,
    ) -> None:
        self.defaults = defaults
        self._first, self._more = _index_by_name(specs), more

    @cached_property
    def specs(self) -> dict[str, PluginSpec]:
        """All plugins by name. Raises ``PluginError`` if a further one cannot be used."""
        return _index_by_name([*self._first.values(), *self._more()])

    @classmethod
    def from_specs(cls, specs: Iterable[PluginSpec], defaults: tuple[PluginRef, ...]) -> Registry:
        """Return a registry of ``specs``, with those of the default set first, in its order."""
        by_name = {spec.name: spec for spec in specs}
        return cls([*(by_name.pop(ref.name) for ref in defaults), *by_name.values()], defaults)

    def get(self, name: str) -> PluginSpec | None:
        return self._first.get(name) or self.specs.get(name)

    def find_args(self, name: str) -> ArgsSpec | None:
        """Return the arguments of the plugin ``name``; ``None`` if it takes none or is unknown."""
        spec = self.get(name)
        return spec.args if spec else None

    def with_plugins(self, more: Callable[[], Iterable[PluginSpec]]) -> Registry:
        """Return a registry with the plugins of ``more`` added; the default set stays the same."""
        return Registry(self._first.values(), self.defaults, lambda: (*self._more(), *more()))


def _index_by_name(specs: Iterable[PluginSpec]) -> dict[str, PluginSpec]:
    """Return the plugins by name. Raises ValueError if two have the same name."""
    by_name: dict[str, PluginSpec] = {}
    for spec in specs:
        if spec.name in by_name:
            raise ValueError(f"two plugins are called {spec.name!r}")
        spec.validate_points()
        by_name[spec.name] = spec
    return by_name


class Factories(Mapping[str, PluginFactory]):
    """The factory of each plugin that decides something, by the plugin's name. It takes the plugin's arguments."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __getitem__(self, name: str) -> PluginFactory:
        spec = self._registry.get(name)
        if spec is None or spec.factory is None:
            raise KeyError(name)
        return spec.factory

    def __iter__(self) -> Iterator[str]:
        return (spec.name for spec in self._registry.specs.values() if spec.factory)

    def __len__(self) -> int:
        return sum(1 for _ in self)
