"""A migration only adds what the previous release can live with: its processes run on while ours come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ModelState, ProjectState
from django.db.models.fields import NOT_PROVIDED

from tests.support import previous

pytestmark = pytest.mark.databases


@pytest.fixture(scope="module")
def states() -> tuple[ProjectState, ProjectState]:
    """The tables as the previous release made them, and as they are now."""
    loader = MigrationLoader(None)
    ours = {config.label for config in apps.get_app_configs() if config.name.startswith("kschedweb.")}
    previous_keys = {key for key in loader.disk_migrations if key[0] not in ours} | previous.migrations()
    graph = loader.graph
    before = [
        key for key in previous_keys if not any(child.key in previous_keys for child in graph.node_map[key].children)
    ]
    return graph.make_state(before), graph.make_state(graph.leaf_nodes())


def tables(states: tuple[ProjectState, ProjectState]) -> Iterator[tuple[str, ModelState, ModelState]]:
    """Each table of the previous release, then and now."""
    old, new = states
    for key, model in sorted(old.models.items()):
        assert key in new.models, f"{key} is gone: drop it a release later"
        yield ".".join(key), model, new.models[key]


def test_every_new_column_fills_itself_where_the_previous_release_does_not_know_it(
    states: tuple[ProjectState, ProjectState],
) -> None:
    demanding = [
        f"{table}.{name}"
        for table, old, new in tables(states)
        for name, field in new.fields.items()
        if name not in old.fields and not isinstance(field, models.ManyToManyField)
        if not field.null and field.db_default is NOT_PROVIDED
    ]
    assert not demanding, "give them null=True or a db_default"


def test_every_column_of_the_previous_release_is_still_what_it_was(states: tuple[ProjectState, ProjectState]) -> None:
    problems = []
    for table, old, new in tables(states):
        for name, field in old.fields.items():
            now = new.fields.get(name)
            if now is None:
                problems.append(f"{table}.{name} is gone")
            elif type(now) is not type(field) or (field.null and not now.null) or is_shorter(now, field):
                problems.append(f"{table}.{name} is another kind of column, or a narrower one")
    assert not problems, "add a column beside it, and drop the old one a release later"


def test_no_new_constraint_stands_on_a_table_of_the_previous_release(states: tuple[ProjectState, ProjectState]) -> None:
    stricter = [
        f"{table}: {constraint.name}"
        for table, old, new in tables(states)
        for constraint in new.options.get("constraints", [])
        if constraint not in old.options.get("constraints", [])
        and not any(old.fields[name].unique for name in fields(constraint) if name in old.fields)
    ]
    assert not stricter, "let the services refuse it first, and add the constraint a release later"


def fields(constraint: models.BaseConstraint) -> tuple[str, ...]:
    return tuple(constraint.fields) if isinstance(constraint, models.UniqueConstraint) else ()


def is_shorter(now: models.Field[Any, Any], before: models.Field[Any, Any]) -> bool:
    """Return whether a value that fitted before may be too long now."""
    return now.max_length is not None and (before.max_length is None or now.max_length < before.max_length)
