"""Fixtures for every test: people, clients, recorded data, the real scheduler, servers and a browser."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis.internal.conjecture import providers

from kschedweb import catalogues
from tests.support import once, rewriting, tiers
from tests.support.needs import missing

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import DjangoDbBlocker
    from rest_framework.test import APIClient

    from kschedweb.accounts.models import User

pytest_plugins = [
    *(f"tests.support.{name}" for name in ("controlplane", "browser", "demo", "folders", "place", "sandbox")),
    *(f"tests.originals.{name}" for name in ("charts", "keycloak", "kubectl")),
]

# How long an example takes says nothing about the code on a busy machine.
hypothesis_settings.register_profile(
    "kschedweb", deadline=None, max_examples=tiers.count(15, 100), derandomize=not tiers.NIGHTLY
)
hypothesis_settings.load_profile("kschedweb")
if not tiers.NIGHTLY:
    # It would also draw what is written in any module that happens to be imported: another test alone than among
    # others. To look for that takes longer than most of what is drawn.
    providers._get_local_constants = lambda: providers._local_constants

ROOT = Path(__file__).resolve().parent.parent
BROWSER = ROOT / "tests" / "browser"
LONGEST_NAME, GZIP = 100, b"\x1f\x8b"
# Fixtures of pytest-django that open the database without the marker.
DATABASE_FIXTURES = {"db", "transactional_db", "django_db_reset_sequences", "live_server"}
SERVERS = ("live", "browser", "postgresql", "redis")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="benchmarks in full size, minutes each")


def pytest_configure(config: pytest.Config) -> None:
    # As often as the garbage collector looks by default it takes a third of collecting tests, and a seventh of pages.
    gc.set_threshold(20_000, 20, 50)
    if not hasattr(config, "workerinput"):
        if once.VARIABLE not in os.environ:  # a run that a test starts shares what this one has made
            once.share()
            config.add_cleanup(_drop_template)
        catalogues.compile_all()  # a run without make finds them too
        if config.getoption("numprocesses", None):
            rewriting.compile_all(config, (ROOT / "tests").rglob("test_*.py"))


def _drop_template() -> None:
    if once.made("tables-postgresql"):
        from tests.support.tables import drop_template

        drop_template(os.environ["DATABASE_URL"])


@pytest.fixture(scope="session")
def long(request: pytest.FixtureRequest) -> bool:
    """Return whether benchmarks should run in full size."""
    return bool(request.config.getoption("--long")) or tiers.NIGHTLY


@pytest.hookimpl(tryfirst=True)
def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Tests have short names, and the same in every process: gzip writes the time into what it packs."""
    if isinstance(val, str | bytes) and (len(val) > LONGEST_NAME or val[:2] == GZIP):
        return argname
    return None


# Before pytest-xdist's, which reads the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they use; a module with servers, a browser or rows of its own stays in one process.

    Each process of pytest-xdist has servers of its own, and would write the rows again. Modules with the most tests
    come first, single tests fill the rest of the time.
    What a browser does in a narrow window too is left to the full tier.
    """
    heavy = {ROOT / "tests" / "live", BROWSER}
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & {"control_plane", "oracle", "assets"}:
            item.add_marker("live")
        if fixtures & {"browser", "page", "page_as"}:
            item.add_marker("browser")
        if item.path.parent in heavy or "broker" in fixtures or any(map(item.get_closest_marker, SERVERS)):
            item.add_marker("server")
        alone = item.get_closest_marker("server") or fixtures & {"control_plane", "rows_of_module"}
        if alone and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(ROOT))))
        if "transactional_db" in fixtures or _transactional(item):
            item.add_marker("databases")
        if item.get_closest_marker("django_db") or fixtures & DATABASE_FIXTURES:
            _use_database(item)
        if item.path.parent == BROWSER and "[chromium-390" in item.name:
            item.add_marker("nightly")


def _use_database(item: pytest.Item) -> None:
    """Keep the rows of migrations after the test. Others have no transaction, which takes longer than most of them."""
    info = getattr(item, "_fixtureinfo", None)
    if info is None or "migrated_rows" in info.names_closure[:1]:
        return
    names = info.names_closure  # the list that tests of one function share, from session to function

    def is_of_function(name: str) -> bool:
        return name not in info.name2fixturedefs or info.name2fixturedefs[name][-1].scope == "function"

    first = next((place for place, name in enumerate(names) if is_of_function(name)), len(names))
    names.insert(first, "django_db_serialized_rollback")
    names.insert(0, "migrated_rows")


def pytest_collection_finish() -> None:
    """Freeze collected tests, which stay to the end: the garbage collector need not walk them each time.

    It waits with what lives long until there is a quarter more of it than it last saw, which must not be all of that.
    """
    gc.collect()
    gc.freeze()
    gc.collect()


def _transactional(item: pytest.Item) -> bool:
    """Return whether the test commits its writes, so that locks and connections count."""
    marker = item.get_closest_marker("django_db")
    return marker is not None and bool(marker.kwargs.get("transaction"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test marked by a server runs where that server's address is given."""
    for marker, variable in (("postgresql", "DATABASE_URL"), ("redis", "REDIS_URL")):
        if item.get_closest_marker(marker) and not os.environ.get(variable):
            missing(f"set {variable}")


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """In place of pytest-django's, which has each process migrate."""
    from tests.support.tables import copy_tables, drop_tables

    with django_db_blocker.unblock():
        copy_tables()
    yield
    with django_db_blocker.unblock():
        drop_tables()


@pytest.fixture(scope="session")
def migrated_rows(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Keep the rows of migrations (the policy `default`) after each test, also one that emptied the database."""
    from django.db import connection

    from tests.support.emptying import keep_rows

    with pytest.MonkeyPatch.context() as patch:
        with django_db_blocker.unblock():
            keep_rows(connection, patch)
        yield


@pytest.fixture(scope="module")
def rows_of_module(
    request: pytest.FixtureRequest, migrated_rows: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """``with rows_of_module():`` a fixture of the module writes rows that all its tests find; they go with the module.

    Each test's own transaction lies inside the module's, so that none of them may commit.
    """
    from django.db import transaction

    committing = [item.name for item in request.session.items if item.path == request.path and _transactional(item)]
    assert not committing, f"move to another module: {committing}"
    with contextlib.ExitStack() as opened:
        with django_db_blocker.unblock():
            opened.enter_context(transaction.atomic())
        yield django_db_blocker.unblock
        with django_db_blocker.unblock():
            transaction.set_rollback(True)
            opened.close()


@pytest.fixture(scope="module", autouse=True)
def forget_snapshots() -> Iterator[None]:
    """No module's clusters stay in memory after it: no other one asks about them."""
    yield
    if snapshots := sys.modules.get("kschedweb.decisions.snapshots"):
        snapshots.clear_policy_caches()


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    """No test sees what another one left in the cache (throttles, for one)."""
    from django.core.cache import cache

    cache.clear()


def person(role: str) -> User:
    """The one person of this role, named like it, whose password is ``<role>-password``."""
    from kschedweb.accounts.models import User

    user = User.objects.filter(username=role).first()
    return user or User.objects.create_user(username=role, password=f"{role}-password", role=role)


@pytest.fixture
def viewer(db: None) -> User:
    return person("viewer")


@pytest.fixture
def editor(db: None) -> User:
    return person("editor")


@pytest.fixture
def approver(db: None) -> User:
    return person("approver")


@pytest.fixture
def admin(db: None) -> User:
    return person("admin")


@pytest.fixture
def client_as(db: None) -> Callable[[str], Client]:
    """``client_as("editor")``: Django's test client, logged in."""
    from django.test import Client

    def make(role: str) -> Client:
        client = Client()
        client.force_login(person(role), backend="django.contrib.auth.backends.ModelBackend")
        return client

    return make


@pytest.fixture
def api_as(db: None) -> Callable[[str], APIClient]:
    """``api_as("viewer")``: a REST client that sends and reads JSON as that role."""
    from rest_framework.test import APIClient

    def make(role: str) -> APIClient:
        client = APIClient(raise_request_exception=True)
        client.default_format = "json"
        client.force_authenticate(person(role))
        return client

    return make


@pytest.fixture(scope="session")
def oracle(assets: Path) -> Callable[[str, str], Any]:
    """``oracle("explain" | "schedule" | "validate" | "bench", text)`` asks the real kube-scheduler.

    Returns a list with one answer a line for ``explain`` and ``schedule``, one answer otherwise.
    """
    if not (assets / "oracle").exists():
        missing("KUBEBUILDER_ASSETS holds no oracle")

    def ask(mode: str, text: str) -> Any:
        process = subprocess.run([assets / "oracle", mode], input=text, capture_output=True, text=True, timeout=300)
        if process.returncode:
            raise RuntimeError(f"oracle {mode}: {process.stderr[-2000:]}")
        answers = [json.loads(line) for line in process.stdout.splitlines() if line.strip()]
        return answers if mode in ("explain", "schedule") else answers[0]

    return ask
