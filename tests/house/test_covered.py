"""Whatever hangs on a cluster is found through its grants: models are covered, and no query goes round that."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from django.apps import apps
from django.db import models

from kschedweb.accounts.reach import Reach
from kschedweb.accounts.row_access import Covered, rule_of
from kschedweb.clusters.models import Cluster
from kschedweb.policies.models import Policy
from tests.support.routes import routes

ROOT = Path(__file__).resolve().parent.parent.parent
SITE = [path for path in (ROOT / "kschedweb").rglob("*.py") if not {"engine", "migrations", "cli"} & set(path.parts)]
# Of the whole site, although rows of theirs lead to those who hang on a cluster.
OF_SITE = {"approvals.Endpoint", "approvals.EndpointSecret", "policies.Policy", "policies.Revision"}
# Who asks Django's own manager, which knows no grants, and why.
ROUND = {
    "kschedweb/accounts/row_access.py": "says what is covered",
    "kschedweb/fleet/models.py": "says what is covered",
    "kschedweb/playground/scenarios/models.py": "says what is covered",
}
# Who asks for everything in whoever's request, and why.
EVERYTHING = {
    "kschedweb/accounts/grants.py": "what grants of others are about",
    "kschedweb/accounts/models.py": "which clusters grants are about",
    "kschedweb/accounts/reach.py": "defines it",
    "kschedweb/advice/costs/columns.py": "what is kept of a snapshot is kept for all who look",
    "kschedweb/jobs/services.py": "whose turn it is does not depend on who asks",
    "kschedweb/jobs/tasks.py": "a job runs for the site, also where a request waits for it",
    "kschedweb/jobs/turns.py": "whose turn it is does not depend on who asks",
}


def hangs_on_a_cluster(model: type[models.Model], visited: frozenset[type[models.Model]] = frozenset()) -> bool:
    if model is Cluster or model is Policy or model in visited:
        return model is Cluster
    targets = [field.related_model for field in model._meta.concrete_fields if field.is_relation]
    return any(isinstance(target, type) and hangs_on_a_cluster(target, visited | {model}) for target in targets)


def covered_models() -> list[type[models.Model]]:
    return [model for model in apps.get_models() if isinstance(model._default_manager, Covered)]


def relative_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_what_hangs_on_a_cluster_is_covered() -> None:
    cluster_models = [model for model in apps.get_models() if hangs_on_a_cluster(model)]
    assert len(cluster_models) > 35
    missing = (
        {model._meta.label for model in cluster_models} - {model._meta.label for model in covered_models()} - OF_SITE
    )
    assert not missing, f"give them objects = Covered(...): {sorted(missing)}"


def test_every_rule_can_be_asked(db: None) -> None:
    reach = Reach(1, frozenset(), frozenset())
    for model in covered_models():
        assert not model._base_manager.filter(rule_of(model)(reach)).exists()


def test_a_covered_model_has_no_other_manager() -> None:
    for model in covered_models():
        assert [manager.name for manager in model._meta.managers] == ["objects"], model
        assert model._meta.base_manager_name is None, model


def test_nobody_asks_a_manager_that_knows_no_grants() -> None:
    for path in SITE:
        if {"_base_manager", ".raw("} & {part for part in ("_base_manager", ".raw(") if part in path.read_text()}:
            assert relative_name(path) in ROUND, path
    for path in SITE:
        text = path.read_text()
        if "connection.cursor" in text:
            assert path.parent.name == "web", f"{path}: SQL by hand"


def test_whoever_asks_for_everything_has_a_reason() -> None:
    unrestricted_modules = {
        relative_name(path)
        for path in SITE
        if "unrestricted(" in path.read_text() and "accounts.reach" in path.read_text()
    }
    assert unrestricted_modules | {"kschedweb/accounts/reach.py"} == set(EVERYTHING)


def once(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield code that runs when the module is imported, and so for nobody in particular."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        yield child
        yield from once(child)


def test_no_query_set_is_made_before_anybody_asks() -> None:
    """Whoever came first would say what all others see. A manager is none yet, and ``none()`` stays empty."""
    early_query_sets, covered_list = [], covered_models()
    for path in SITE:
        module = sys.modules.get(relative_name(path).removesuffix(".py").replace("/", "."))
        names = (
            {name for name, value in vars(module).items() if isinstance(value, type) and value in covered_list}
            if module
            else set()
        )
        for node in once(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                match node.func.value:
                    case ast.Attribute(ast.Name(name), "objects") if name in names and node.func.attr != "none":
                        early_query_sets.append(f"{path}:{node.lineno}")
    for route in routes():
        rows = getattr(getattr(route.view, "cls", None), "queryset", None)
        if isinstance(rows, models.QuerySet) and rows.model in covered_models() and not rows.query.is_empty():
            early_query_sets.append(f"{route.view.cls.__module__}.{route.view.cls.__name__}.queryset")
    assert not early_query_sets, "\n".join(early_query_sets)
