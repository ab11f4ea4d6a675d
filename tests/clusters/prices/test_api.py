"""The price table of a cluster by REST: made, changed and deleted under its version; what is wrong has its line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.clusters.prices.selectors import table_of

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/clusters/shop/prices/"
TEXT = """# our own
apiVersion: kschedweb/v1
kind: PriceTable
currency: EUR
prices:
  - instanceType: m
    price: 0.5
"""


@pytest.fixture
def cluster(db: None) -> Cluster:
    return Cluster.objects.create(name="shop", source=ClusterSource.IMPORT)


def put(client: Any, text: str, version: str | None) -> Any:
    headers = {} if version is None else {"If-Match": version}
    return client.put(ADDRESS, {"document": text}, headers=headers)


def test_a_table_is_made_changed_and_deleted_under_its_version(api_as: Callable[..., Any], cluster: Cluster) -> None:
    client = api_as("editor")
    assert client.get(ADDRESS).status_code == 404
    assert table_of(cluster) is None
    created = put(client, TEXT, '"0"')
    assert (created.status_code, created["ETag"], created.json()["document"]) == (201, '"1"', TEXT)
    same = put(client, TEXT, '"1"')
    assert (same.status_code, same["ETag"]) == (200, '"1"')
    changed = put(client, TEXT.replace("0.5", "0.6"), '"1"')
    assert (changed.status_code, changed["ETag"]) == (200, '"2"')
    table = table_of(cluster)
    assert table is not None
    assert table.prices[0].price == 0.6
    assert put(client, TEXT, '"1"').status_code == 412
    assert put(client, TEXT, None).status_code == 428
    assert client.delete(ADDRESS).status_code == 428
    assert client.delete(ADDRESS, headers={"If-Match": '"1"'}).status_code == 412
    assert client.delete(ADDRESS, headers={"If-Match": '"2"'}).status_code == 204
    assert client.get(ADDRESS).status_code == 404
    assert client.delete(ADDRESS, headers={"If-Match": "*"}).status_code == 404
    assert table_of(cluster) is None
    # No version comes twice, so that nobody overwrites what was made anew.
    assert put(client, TEXT, '"1"').status_code == 412
    assert put(client, TEXT, '"3"')["ETag"] == '"4"'
    entries = AuditEntry.objects.filter(verb__startswith="prices.").order_by("id").values_list("verb", "object_name")
    assert [verb for verb, _ in entries] == ["prices.made", "prices.changed", "prices.deleted", "prices.made"]
    assert {name for _, name in entries} == {"shop"}


@pytest.mark.parametrize(
    ("change", "path", "line", "message"),
    [
        (("0.5", "-1"), "prices[0].price", 7, "Must be at least 0, is -1"),
        (("price: 0.5", "prise: 0.5"), "prices[0].prise", 7, "Is not known"),
        (
            ("    price: 0.5\n", "    price: 0.5\n  - instanceType: m\n    price: 2\n"),
            "prices[1]",
            8,
            "Is about the same nodes as prices[0]: remove one of them",
        ),
        (("currency: EUR", "currency: [EUR"), "", 5, "This is not YAML"),
        (("PriceTable", "Prices"), "kind", 3, "Must be PriceTable"),
    ],
)
def test_what_is_wrong_is_told_at_its_line(
    api_as: Callable[..., Any], cluster: Cluster, change: tuple[str, str], path: str, line: int, message: str
) -> None:
    answer = put(api_as("editor"), TEXT.replace(*change), '"0"')
    assert answer.status_code == 422
    first = answer.json()["errors"][0]
    assert (first["path"], first["line"]) == (path, line)
    assert message in first["message"]
    assert table_of(cluster) is None


def test_viewers_read_and_do_not_write(api_as: Callable[..., Any], cluster: Cluster) -> None:
    put(api_as("editor"), TEXT, '"0"')
    assert api_as("viewer").get(ADDRESS).json()["version"] == 1
    assert put(api_as("viewer"), TEXT, "*").status_code == 403
