"""Answers of published load-aware schedulers, from their own code: one file or more for each of them.

Files lie in recorded/load-aware; what is added there is tested as well. The first line of a file tells about it, each
further one is a case with what is expected.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from kschedweb.engine import Pod, Scheduler, Snapshot, Status
from kschedweb.engine.config import Release
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.state.columns import ALL
from tests.conformance.batches import Cases
from tests.engine.builders import CONFIGURATION

FOLDER = Path(__file__).parent / "recorded" / "load-aware"


def vectors(kind: str) -> Cases:
    """The cases of all files called ``kind`` or ``kind-…``, each case once."""
    return _cases(path for path in files() if path.name == f"{kind}.jsonl.gz" or path.name.startswith(f"{kind}-"))


def answers_of(function: str) -> Cases:
    """The cases of all files whose first line names ``function``, each case once."""
    return _cases(path for path in files() if function in function_of(path))


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.jsonl.gz"))


def function_of(path: Path) -> str:
    """Return the name of the recorded function, as the first line of the file says."""
    [first] = [row for row in _rows(path) if "meta" in row]
    function: str = first["meta"]["function"]
    return function


@cache
def _rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _cases(paths: Iterable[Path]) -> Cases:
    cases: dict[str, Any] = {}
    for row in (row for path in paths for row in _rows(path) if "meta" not in row):
        cases.setdefault(json.dumps(row, sort_keys=True), row)
    return [(f"{row['id']}-{row.get('case', row.get('kind', ''))}", row) for row in cases.values()]


def containers(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A request that is absent is written as 0: the pods got no defaults from an API server."""
    manifests = []
    for position, row in enumerate(rows):
        limits = {"cpu": row["limCpuMilli"], "memory": row["limMemBytes"]}
        requests = {"cpu": row["reqCpuMilli"] or 0, "memory": row["reqMemBytes"] or 0}
        resources = {
            kind: {
                name: f"{amount}{'m' if name == 'cpu' else ''}"
                for name, amount in amounts.items()
                if amount is not None
            }
            for kind, amounts in (("limits", limits), ("requests", requests))
        }
        manifests.append({"name": f"c{position}", "image": "app:1", "resources": resources})
    return manifests


def loaded_with(plugin: str, args: dict[str, Any], release: Release = CURRENT) -> Any:
    """The configuration whose one profile filters and scores with ``plugin`` alone, after defaults and validation."""
    alone = {"enabled": [{"name": plugin}], "disabled": [{"name": "*"}]}
    off = {"disabled": [{"name": "*"}]}
    plugins = {"preFilter": off, "filter": alone, "postFilter": off, "preScore": off, "score": alone}
    profile = {"schedulerName": "default-scheduler", "plugins": plugins}
    return load({**CONFIGURATION, "profiles": [{**profile, "pluginConfig": [{"name": plugin, "args": args}]}]}, release)


def plugin_of(name: str, args: dict[str, Any]) -> Any:
    """The plugin as a scheduler runs it, made from ``args`` after defaults and validation."""
    loaded = loaded_with(name, args)
    assert loaded.configuration is not None, loaded.errors
    framework = Scheduler(Snapshot(), loaded.configuration).frameworks["default-scheduler"]
    return framework.plugin(name)


def answer(plugin: Any, snapshot: Snapshot, pod: dict[str, Any]) -> tuple[Status, int]:
    """Return the verdict of ``plugin`` on the only node, and its score whatever the verdict is."""
    cycle = Cycle(snapshot, Pod.from_json(pod))
    if hasattr(plugin, "pre_filter"):
        plugin.pre_filter(cycle)
    verdicts = plugin.filter(cycle, ALL)
    return verdicts.statuses[verdicts.codes[0]], int(plugin.score(cycle, ALL)[0])
