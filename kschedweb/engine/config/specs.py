"""What a configuration knows of a plugin: what it implements, and its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any

from kschedweb.engine.config.schema import EXTENSION_POINTS, GROUP_POINTS
from kschedweb.engine.config.types import Struct
from kschedweb.engine.validation.fields import Problem
from kschedweb.engine.values import dataclass


@dataclass(frozen=True)
class PluginRef:
    """A plugin at an extension point; ``weight`` counts at score only and is 0 elsewhere."""

    name: str
    weight: int = 0


def _no_defaults(values: dict[str, Any]) -> None:
    """Set no default."""


def _no_problems(values: dict[str, Any], path: str) -> list[Problem]:
    return []


def _no_advice(values: dict[str, Any]) -> list[tuple[str, str]]:
    return []


@dataclass(frozen=True)
class PointedFile:
    """A file that arguments point at.

    The field ``path`` has its path, the field ``into`` what it says unless that is written out. ``read`` makes the
    decoded value of ``into`` from the file's text, and raises document.RefusedError.
    """

    path: str
    into: str
    read: Callable[[str], Any]


@dataclass(frozen=True)
class ArgsSpec:
    """Arguments of a plugin.

    ``set_defaults`` changes the decoded arguments in place; ``problems(arguments, path)`` says what is wrong.
    ``when_created``: checked only where the plugin is enabled, with paths from the arguments' root. ``advice`` says
    of written arguments, before defaults, which fields are not heeded: (field, sentence).
    """

    struct: Struct
    set_defaults: Callable[[dict[str, Any]], None] = _no_defaults
    problems: Callable[[dict[str, Any], str], list[Problem]] = _no_problems
    when_created: bool = False
    advice: Callable[[dict[str, Any]], list[tuple[str, str]]] = _no_advice
    file: PointedFile | None = None

    @property
    def kind(self) -> str:
        return self.struct.short_name


def _no_args(nodes: Sequence[str]) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class PluginTrial:
    """How an experiment puts a load-aware plugin beside the defaults: its name there, its weight and arguments.

    ``args`` makes the arguments for nodes with these names. ``companion_weights`` are plugins that it is to add to,
    with their weights. ``title`` says it in a few words where the plugin's name and its weight do not.
    """

    name: str
    weight: int = 1
    args: Callable[[Sequence[str]], dict[str, Any]] = _no_args
    companion_weights: Mapping[str, int] = field(default_factory=dict)
    title: str = ""


def _as_it_is(release: Any) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class PluginSpec:
    """A plugin: what registers it, in a module of ``kschedweb.engine.plugins`` or of another package.

    ``points`` are the extension points it implements; ``args`` its arguments, kind ``<name>Args``; ``factory`` makes
    it from them, and is missing where nothing runs. ``gate`` names the feature gate without which it does nothing.
    ``origin`` names the scheduler that it comes from where that is not kube-scheduler, ``load_aware`` says that it
    weighs what nodes really use, ``trials`` how experiments try it then. ``rank`` is its place among those with an
    origin, lowest first. ``variant`` takes a ``Release`` and returns which of these fields are others in it.
    """

    name: str
    points: frozenset[str]
    help: str
    args: ArgsSpec | None = None
    gate: str = ""
    factory: Callable[[dict[str, Any]], Any] | None = None
    origin: str = ""
    load_aware: bool = False
    rank: int = 100
    trials: tuple[PluginTrial, ...] = ()
    variant: Callable[[Any], Mapping[str, Any]] = _as_it_is

    def as_in(self, release: Any) -> PluginSpec:
        """The plugin as it is in ``release``."""
        return replace(self, **self.variant(release))

    @property
    def experiment_trials(self) -> tuple[PluginTrial, ...]:
        """Its trials, of which each load-aware plugin that scores has at least one."""
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", self.name).lower()
        return self.trials or ((PluginTrial(name),) if self.load_aware and "score" in self.points else ())

    def validate_points(self) -> None:
        """Raises ValueError where it names extension points that do not exist."""
        if unknown := self.points - {*EXTENSION_POINTS, *GROUP_POINTS}:
            raise ValueError(f"plugin {self.name!r} names extension points that do not exist: {sorted(unknown)}")


class PluginError(Exception):
    """A plugin of another package that cannot be used; the text names it and says why."""


class Registry:
    """The plugins that a configuration may name, and the default set in its order.

    ``more`` gives further plugins. It is called where a plugin is named that is none of ``specs``, or all are wanted.
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
        """All plugins by name. Raises ``PluginError`` where a further one cannot be used."""
        return _index_by_name([*self._first.values(), *self._more()])

    @classmethod
    def from_specs(cls, specs: Iterable[PluginSpec], defaults: tuple[PluginRef, ...]) -> Registry:
        """Return a registry of ``specs`` with those of the default set first, in its order."""
        by_name = {spec.name: spec for spec in specs}
        return cls([*(by_name.pop(ref.name) for ref in defaults), *by_name.values()], defaults)

    def get(self, name: str) -> PluginSpec | None:
        return self._first.get(name) or self.specs.get(name)

    def find_args(self, name: str) -> ArgsSpec | None:
        """Return the arguments of the plugin ``name``, ``None`` where it takes none or is unknown."""
        spec = self.get(name)
        return spec.args if spec else None

    def with_plugins(self, more: Callable[[], Iterable[PluginSpec]]) -> Registry:
        """Return a registry that knows what ``more`` gives too; the default set stays the same."""
        return Registry(self._first.values(), self.defaults, lambda: (*self._more(), *more()))


def _index_by_name(specs: Iterable[PluginSpec]) -> dict[str, PluginSpec]:
    """Raises ValueError where two have one name."""
    by_name: dict[str, PluginSpec] = {}
    for spec in specs:
        if spec.name in by_name:
            raise ValueError(f"two plugins are called {spec.name!r}")
        spec.validate_points()
        by_name[spec.name] = spec
    return by_name


class Factories(Mapping[str, Callable[[dict[str, Any]], Any]]):
    """Plugin name -> factory taking the plugin's arguments, of every plugin that decides anything."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __getitem__(self, name: str) -> Callable[[dict[str, Any]], Any]:
        spec = self._registry.get(name)
        if spec is None or spec.factory is None:
            raise KeyError(name)
        return spec.factory

    def __iter__(self) -> Iterator[str]:
        return (spec.name for spec in self._registry.specs.values() if spec.factory)

    def __len__(self) -> int:
        return sum(1 for _ in self)
