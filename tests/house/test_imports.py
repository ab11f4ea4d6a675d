"""Imports point down, also those for types alone: the contracts in pyproject.toml hold rooms apart, this
file single modules.
"""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter

import grimp

from tests.conftest import ROOT

# Who imports late, and why that hides no arrow up.
LATE = {
    "kschedweb/cli/commands/explain.py": "the engine takes a second to import, and only files need it",
    "kschedweb/cli/session.py": "HTTP only where a server is asked",
    "kschedweb/cli/kubeconfig.py": "PyYAML only where YAML is read",
    "kschedweb/cli/main.py": "what commands share only where one runs",
    "kschedweb/cli/offline.py": "YAML and classic Policies only where a policy is given",
    "kschedweb/cli/reading/client.py": "the kubernetes package only where there is no kubectl",
    "kschedweb/cli/local.py": "Kueue's modules only where a cluster has queues",
    "kschedweb/cli/output.py": "PyYAML only where YAML is written",
    "kschedweb/cli/settings.py": "PyYAML only where YAML is read",
    "kschedweb/engine/commands/scheduling.py": "Policies and HTTP only where a scenario or an option wants them",
    "kschedweb/engine/config/loading.py": "PyYAML only where YAML is read",
    "kschedweb/engine/config/reading.py": "PyYAML only where YAML is read",
    "kschedweb/engine/documents/files.py": "PyYAML only where YAML is read",
    "kschedweb/engine/plugins/__init__.py": "entry points only where a plugin is named that is not kube-scheduler's",
    "kschedweb/engine/studies/fixes/search.py": "Kueue's modules only where a pod waits for quota",
    "kschedweb/jobs/nursery.py": "Django in child processes only",
    "kschedweb/loopback.py": "models are there only once Django is set up",
    "kschedweb/playground/sweeps/sampling.py": "optuna takes a second to import",
    "kschedweb/runner.py": "each process of the embedded site imports what it needs",
}


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = grimp.build_graph("kschedweb", cache_dir=None)
    order = TopologicalSorter({module: graph.find_modules_directly_imported_by(module) for module in graph.modules})
    try:
        order.prepare()
    except CycleError as error:
        circle = " -> ".join(error.args[1])
        raise AssertionError(f"modules import each other in a circle: {circle}") from None


def test_functions_import_nothing() -> None:
    """AppConfig.ready may: models are there only then."""
    late = set()
    for path in (ROOT / "kschedweb").rglob("*.py"):
        functions = [part for part in ast.walk(ast.parse(path.read_bytes())) if isinstance(part, ast.FunctionDef)]
        inside = [part for function in functions for part in ast.walk(function)]
        if path.name != "apps.py" and any(isinstance(part, ast.Import | ast.ImportFrom) for part in inside):
            late.add(path.relative_to(ROOT).as_posix())
    assert late == set(LATE)


def test_the_engine_makes_its_data_classes_itself() -> None:
    """Each one that the standard library makes takes half a millisecond of every start."""
    words = re.compile(r"^(from dataclasses import .*\bdataclass\b|import dataclasses)", re.MULTILINE)
    engine = ROOT / "kschedweb" / "engine"
    importing_modules = [path for path in engine.rglob("*.py") if words.search(path.read_text(encoding="utf-8"))]
    assert importing_modules == [engine / "values.py"]
