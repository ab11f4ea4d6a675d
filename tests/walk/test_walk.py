"""Rules for every address of the site, checked on one walk."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client, override_settings
from django.utils import translation
from django.utils.formats import reset_format_cache

from kschedweb.accounts import services as accounts
from kschedweb.accounts.models import Token
from kschedweb.accounts.roles import Action
from kschedweb.clusters.connecting import credentials
from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import sandbox_connect
from kschedweb.live.approvals.models import Endpoint
from kschedweb.live.approvals.webhooks.services import secret_renew
from kschedweb.policies.services import policy_create
from tests.conftest import person
from tests.support import addresses, seed
from tests.support.pseudo import CODE, pseudo_language
from tests.support.routes import routes
from tests.support.sandbox import TOKEN
from tests.walk import links
from tests.walk.links import Links
from tests.walk.moved import MovedAddresses
from tests.walk.numbers import Numbers
from tests.walk.queries import Queries
from tests.walk.secrets import Secrets
from tests.walk.visits import Judge, Walk
from tests.walk.words import Words

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

pytestmark = pytest.mark.xdist_group("walk")

ROWS = 16  # of everything: one query a row is more than any bound leaves room for
SECRET = "s3cret-value-that-nobody-may-read-again"
PEM = f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----"
AT_WORK = {
    "ADMIN_SESSION_IDLE_MINUTES": 0,  # activity is noted once a minute, by whatever is visited just then
    "CLUSTER_ALLOWLIST": ["192.0.2.9"],  # of no machine
    "JOBS_WAITING": 10_000,  # one person asks for everything here
    "SANDBOX_TOKEN": TOKEN,
}


def other_choices(admin: User) -> None:
    """A cluster and a policy that no address names."""
    objects = [seed.node(links.NODE), seed.pod(links.POD, bound_to=links.NODE), seed.pod("chosen-waiting")]
    seed.imported(links.CLUSTER, objects, admin)
    policy_create(name=links.POLICY, document=seed.POLICY.format(7), author=None)


def secrets(admin: User) -> list[str]:
    """List texts that no answer may hold: credentials of a cluster, keys of tokens and webhooks, digests."""
    secret = credentials.Secret(server="https://192.0.2.1:6443", token=SECRET, client_key=PEM, password=SECRET)
    stored_credential = credentials.credential_save(cluster=Cluster.objects.get(name="watched"), secret=secret)
    _, key = accounts.token_create(user=admin, name="walk", scope=Action.VIEW, days=1)
    webhook_key = secret_renew(user=admin, endpoint=Endpoint.objects.get(name="chat"))
    digests = Token.objects.values_list("digest", flat=True)
    return [SECRET, key, webhook_key, admin.password, bytes(stored_credential.ciphertext).hex(), *digests]


def same_everywhere(patch: pytest.MonkeyPatch) -> None:
    """In the language of the walk each digit has a group of its own, so that small numbers tell as well as large ones.

    A busy machine makes no job of a quick question.
    """
    formats = importlib.import_module(f"kschedweb.web.formats.{CODE}.formats")
    patch.setattr(formats, "NUMBER_GROUPING", 1)
    patch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SECONDS", 600.0)


@pytest.fixture(scope="module")
def problems_by_judge(
    rows_of_module: Callable[[], AbstractContextManager[None]], sandbox_address: str
) -> dict[type, list[str]]:
    """Findings of each judge on the walk."""
    with ExitStack() as around:
        around.enter_context(rows_of_module())
        around.enter_context(override_settings(SANDBOX_SERVER=sandbox_address, **AT_WORK))
        around.enter_context(translation.override(translation.get_language()))  # a request leaves its own behind
        around.callback(reset_format_cache)
        same_everywhere(around.enter_context(pytest.MonkeyPatch.context()))
        reset_format_cache()
        admin = person("admin")
        sandbox_connect()
        places = seed.everything(ROWS, admin, "default/seed")
        other_choices(admin)
        forbidden = secrets(admin)
        client = Client()
        client.force_login(admin, backend="django.contrib.auth.backends.ModelBackend")
        with pseudo_language() as language:
            walk = Walk(places, client, language)
            judges: list[Judge] = [Queries(), Numbers(), Words(), Links(), Secrets(forbidden), MovedAddresses(walk)]
            problems = walk.judge_all(judges)
    return problems


def test_no_address_costs_more_queries_than_its_bound(problems_by_judge: dict[type, list[str]]) -> None:
    assert problems_by_judge[Queries] == []


def test_what_programs_read_has_no_separators(problems_by_judge: dict[type, list[str]]) -> None:
    assert problems_by_judge[Numbers] == []


def test_no_page_has_words_that_nobody_marked(problems_by_judge: dict[type, list[str]]) -> None:
    assert problems_by_judge[Words] == []


def test_what_the_session_chose_shows_on_no_page_of_another_cluster_or_policy(
    problems_by_judge: dict[type, list[str]],
) -> None:
    assert problems_by_judge[Links] == []


def test_no_page_and_no_answer_shows_a_secret(problems_by_judge: dict[type, list[str]]) -> None:
    assert problems_by_judge[Secrets] == []


def test_every_address_that_ever_was_leads_to_a_page(problems_by_judge: dict[type, list[str]]) -> None:
    assert problems_by_judge[MovedAddresses] == []


def test_no_page_and_no_resource_is_forgotten() -> None:
    all_places: dict[str, Any] = {
        field.name: "1" for field in dataclasses.fields(addresses.Places) if field.default == ""
    }
    places = addresses.Places("c", "n/p", "n/p", **all_places)
    opened_routes = [route for route in routes() if route.opened]
    assert {name.partition(":")[0] for name in addresses.pages(places)} == {
        r.name for r in opened_routes if not r.is_rest
    }
    assert set(addresses.resources(places)) == {route.name for route in opened_routes if route.is_rest}
