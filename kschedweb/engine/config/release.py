"""What one release of kube-scheduler does otherwise than another: a value that a configuration carries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from kschedweb import __version__
from kschedweb.engine.config.schema import Schema
from kschedweb.engine.config.specs import PluginSpec, Registry


def _nobody() -> Iterable[PluginSpec]:
    return ()


@dataclass(frozen=True, eq=False)
class Release:
    """One release of kube-scheduler. ``kschedweb.engine.releases`` has those that there are.

    ``own`` are its plugins as they are in it, with its default set; ``others`` gives plugins that run here beside them
    and is called once, when a configuration is read. ``gates`` are the feature gates that decide something here, and
    whether they are on. ``names_score_plugins``: what is wrong with weights is told as of ``score plugins``.
    """

    version: str
    own: Registry
    schema: Schema
    gates: Mapping[str, bool]
    names_score_plugins: bool
    others: Callable[[], Iterable[PluginSpec]] = _nobody

    @property
    def engine(self) -> str:
        """What an answer was made by: the version of kschedweb, and that of the kube-scheduler it stands for."""
        return f"kschedweb {__version__}, kube-scheduler {self.version}"

    @cached_property
    def registry(self) -> Registry:
        """The plugins that a configuration may name. Raises ``PluginError`` where one of ``others`` cannot be used."""
        return self.own.extended(*self.others())

    @cached_property
    def factories(self) -> dict[str, Callable[[dict[str, Any]], Any]]:
        """Plugin name -> factory taking the plugin's arguments, of every plugin that decides anything."""
        return {spec.name: spec.factory for spec in self.registry.specs.values() if spec.factory}

    def extended(self, *specs: PluginSpec) -> Release:
        """The same release where ``specs`` run too; the default set stays the same."""
        return replace(self, others=lambda: (*self.others(), *specs))
