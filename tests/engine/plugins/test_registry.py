"""A plugin of another package, found through its entry point, takes part in any profile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest

from kschedweb.engine import Scheduler, Snapshot, plugins
from kschedweb.engine.config.specs import PluginSpec
from kschedweb.engine.framework.interface import POINTS, Cycle
from kschedweb.engine.releases import CURRENT, RELEASES, load
from kschedweb.engine.state.columns import Ints, Rows
from tests.engine.builders import CONFIGURATION, explain, node, pod


class LongName:
    name = "LongName"

    def __init__(self, args: dict) -> None:
        pass

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        return np.array([len(name) for name in cycle.snapshot.names], dtype=np.int64)[rows]


SPEC = PluginSpec("LongName", frozenset({"score"}), "Prefers nodes with long names.", factory=LongName)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package that offers SPEC is installed."""
    entry_points = EntryPoints([EntryPoint("long-name", f"{__name__}:SPEC", plugins.ENTRY_POINTS)])
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entry_points)
    monkeypatch.setattr(EntryPoint, "load", lambda entry: SPEC)
    forget()
    yield
    forget()


def forget() -> None:
    """Have plugins looked for anew."""
    plugins.out_of_tree_plugins.cache_clear()
    for attribute in ("registry", "factories"):
        vars(CURRENT).pop(attribute, None)


@pytest.mark.usefixtures("installed")
def test_a_plugin_of_another_package_scores() -> None:
    profile = {"plugins": {"score": {"enabled": [{"name": "LongName", "weight": 50}]}}}
    answer = explain(pod("p"), node("a"), node("much-longer"), **profile)
    assert answer["chosen"] == "much-longer"
    assert answer["scores"]["LongName"]["raw"] == {"a": 1, "much-longer": 11}


def test_the_plugins_that_run_are_at_the_points_the_configuration_knows() -> None:
    """Not each release has all of them."""
    newest = list(RELEASES.values())[-2:]
    for name, factory in newest[-1].factories.items():
        plugin = factory({})
        points = {point for point, protocol in POINTS.items() if isinstance(plugin, protocol)}
        assert points <= frozenset().union(*(release.registry.specs[name].points for release in newest)), name


@pytest.mark.parametrize("module", sorted(module.name for module in iter_modules(plugins.__path__)))
def test_a_plugin_has_tests_of_its_own(module: str) -> None:
    assert Path(__file__).with_name(f"test_{module}.py").is_file()


def test_every_plugin_here_is_of_a_release_or_has_an_origin() -> None:
    released = {spec.name for release in RELEASES.values() for spec in release.specs}
    assert released == {spec.name for spec in plugins._find_specs() if not spec.origin}


def test_who_names_kube_schedulers_plugins_alone_does_not_wait_for_others() -> None:
    def unwanted() -> tuple[PluginSpec, ...]:
        raise AssertionError

    release = replace(CURRENT, extra_plugins=unwanted)
    profile = {"plugins": {"score": {"disabled": [{"name": "ImageLocality"}]}}, "pluginConfig": [{"name": "NodePorts"}]}
    loaded = load({**CONFIGURATION, "profiles": [profile]}, release)
    assert loaded.errors == []
    assert loaded.configuration is not None
    Scheduler(Snapshot(), loaded.configuration)
    with pytest.raises(AssertionError):
        load({**CONFIGURATION, "profiles": [{"plugins": {"score": {"enabled": [{"name": "Other"}]}}}]}, release)
