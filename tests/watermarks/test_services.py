"""Setting a source, testing it, and collecting on time, once, whatever goes wrong."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone
from pytest_django import Settings as DjangoSettings

from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters.connecting.credentials import Secret, canary_check, credential_open, keys_rotate
from kschedweb.clusters.models import Cluster
from kschedweb.watermarks import selectors, services, storage, tasks
from kschedweb.watermarks.figures import NODE, Figure
from kschedweb.watermarks.models import Members, Resolution, Sample, WatermarkCredential, WatermarkSource
from kschedweb.watermarks.source_settings import SourceSettings, settings_check
from kschedweb.web.errors import ApplicationError, Conflict
from tests.clusters.conftest import OddServer
from tests.watermarks.conftest import KEY, answer_queries, by_instance, store_cluster

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

CPU, MEMORY = "node/cpu/15m", "node/memory/15m"
QUERIES = {CPU: "cpu", MEMORY: "memory"}
GOOD = {"cpu": by_instance(node_a=30, node_b=30, node_c=30), "memory": by_instance(node_a=20, node_b=20, node_c=20)}


def settings_of(server: OddServer, **changes: object) -> SourceSettings:
    answer_queries(server, GOOD)
    return replace(SourceSettings(kind="prometheus", address=server.url, queries=QUERIES), **changes)  # type: ignore[arg-type]


def errors_of_save(cluster: Cluster, settings: SourceSettings) -> dict[str, str]:
    """Save the source and return the errors by field."""
    with pytest.raises(ApplicationError) as caught:
        services.source_save(user=None, cluster=cluster, settings=settings)
    return {item["path"]: item["message"] for item in caught.value.errors}


def run(cluster: Cluster, at: float) -> bool:
    source = services.run_claim(cluster_id=cluster.pk, now=at)
    if source is not None:
        services.run_collection(source=source, now=at)
    return source is not None


def values_and_error(cluster: Cluster) -> tuple[list[float], str]:
    watermarks = selectors.current_watermarks(cluster)
    assert watermarks is not None
    return watermarks.column("cpu", "15m").tolist(), selectors.source_get(cluster).error


def test_a_test_reports_and_keeps_nothing(cluster: Cluster, odd_server: OddServer, admin: User) -> None:
    report = services.source_test(user=admin, cluster=cluster, settings=settings_of(odd_server))
    assert (report.nodes, report.problems) == (3, [])
    assert report.queries[CPU].examples[0] == ("node-a", 60.0)
    assert not WatermarkSource.objects.exists()
    assert not Sample.objects.exists()
    assert AuditEntry.objects.latest("pk").verb == "watermarks.source-tested"


def test_saving_keeps_the_settings_and_audits_them(cluster: Cluster, odd_server: OddServer, admin: User) -> None:
    services.source_save(user=admin, cluster=cluster, settings=settings_of(odd_server, interval=120))
    source = selectors.source_get(cluster)
    assert (source.kind, source.interval, source.queries, source.changed_by) == ("prometheus", 120, QUERIES, admin)
    entry = AuditEntry.objects.latest("pk")
    assert entry.verb == "watermarks.source-saved"
    assert entry.details["changed"] == ["address", "interval", "kind", "queries"]
    assert not WatermarkCredential.objects.exists()


def test_what_the_test_finds_wrong_is_said_at_its_field_and_nothing_is_saved(
    cluster: Cluster, odd_server: OddServer
) -> None:
    settings = settings_of(odd_server)
    answer_queries(odd_server, {"cpu": {"status": "error", "errorType": "bad_data", "error": "parse error"}} | {
        "memory": GOOD["memory"]})  # fmt: skip
    assert errors_of_save(cluster, settings) == {"queries.node/cpu/15m": "Prometheus says: parse error (bad_data)"}
    assert errors_of_save(cluster, replace(settings, node_label="host"))["node_label"].startswith(
        "No series has the label"
    )
    assert errors_of_save(cluster, replace(settings, address="http://127.0.0.1:1")) == {
        "address": "Prometheus cannot be reached at its address."
    }
    assert errors_of_save(cluster, replace(settings, address="http://10.9.8.7"))["address"].startswith(
        "10.9.8.7 is not among"
    )
    assert errors_of_save(cluster, replace(settings, address="ftp://x"))["address"].startswith(
        "The server is not an address"
    )
    assert list(errors_of_save(cluster, replace(settings, ca="-----BEGIN"))) == ["ca"]
    odd_server.answer = lambda request: (401, {}, b"")
    assert list(errors_of_save(cluster, settings)) == ["credentials"]
    assert not WatermarkSource.objects.exists()


def test_a_source_that_fails_its_test_can_be_saved_all_the_same(cluster: Cluster, odd_server: OddServer) -> None:
    settings = settings_of(odd_server)
    odd_server.answer = lambda request: (503, {}, b"")
    report = services.source_save(user=None, cluster=cluster, settings=settings, force=True)
    assert report is not None
    assert selectors.source_get(cluster).kind == "prometheus"
    assert AuditEntry.objects.latest("pk").details["problems"] == ["The server answered with status 503."]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"interval": 5}, "interval"),
        ({"keep_hours": 0}, "keep_hours"),
        ({"keep_long_days": 100_000}, "keep_long_days"),
        ({"queries": {"node/cpu/7m": "x"}}, "queries.node/cpu/7m"),
        ({"queries": {CPU: "x" * 5000}}, "queries.node/cpu/15m"),
        ({"queries": {CPU: " "}}, "queries"),
        ({"address": " "}, "address"),
        ({"node_label": ""}, "node_label"),
        ({"authentication": "bearer", "token": "a\nb"}, "token"),
    ],
)
def test_settings_that_cannot_be_right_are_refused_at_their_field(changes: dict[str, Any], path: str) -> None:
    settings_given = SourceSettings(kind="prometheus", address="https://p", queries=QUERIES)
    with pytest.raises(ApplicationError) as caught:
        settings_check(replace(settings_given, **changes))
    assert path in [item["path"] for item in caught.value.errors]


def test_a_cluster_that_was_not_read_yet_says_so(db: None, odd_server: OddServer) -> None:
    bare = Cluster.objects.create(name="bare", source="import")
    with pytest.raises(Conflict, match="has not been read yet"):
        services.source_test(user=None, cluster=bare, settings=settings_of(odd_server))


@pytest.mark.usefixtures("encryption_key")
def test_secrets_are_sealed_kept_while_the_server_stays_and_never_shown(
    cluster: Cluster, odd_server: OddServer, settings: DjangoSettings
) -> None:
    settings_given = settings_of(odd_server, authentication="bearer", token="hunter2-token")
    services.source_save(user=None, cluster=cluster, settings=settings_given)
    row = WatermarkCredential.objects.get()
    assert b"hunter2" not in bytes(row.ciphertext)
    assert "hunter2" not in repr(settings_given)
    assert "hunter2" not in str(AuditEntry.objects.latest("pk").details)
    assert odd_server.requests[-1].headers["Authorization"] == "Bearer hunter2-token"

    services.source_save(user=None, cluster=cluster, settings=replace(settings_given, token="", interval=300))
    assert credential_open(cluster, model=WatermarkCredential).token == "hunter2-token"
    elsewhere = replace(settings_given, token="", address=odd_server.url.replace("127.0.0.1", "127.0.0.2"))
    assert "a stored one is used only while" in errors_of_save(cluster, elsewhere)["token"]

    services.source_save(user=None, cluster=cluster, settings=replace(settings_given, authentication="none", token=""))
    assert not WatermarkCredential.objects.exists()
    settings.ENCRYPTION_KEYS = []
    with pytest.raises(ApplicationError, match="Credentials cannot be stored"):
        services.source_save(user=None, cluster=cluster, settings=settings_given)


@pytest.mark.usefixtures("encryption_key")
def test_a_stored_password_goes_with_its_user_name_only(cluster: Cluster, odd_server: OddServer) -> None:
    settings_given = settings_of(odd_server, authentication="basic")
    assert "The user name is needed" in errors_of_save(cluster, settings_given)["username"]
    assert "The password is needed" in errors_of_save(cluster, replace(settings_given, username="me"))["password"]
    services.source_save(user=None, cluster=cluster, settings=replace(settings_given, username="me", password="p"))
    for same in (settings_given, replace(settings_given, username="me")):
        services.source_save(user=None, cluster=cluster, settings=same)
        assert credential_open(cluster, model=WatermarkCredential).password == "p"
    assert "The password is needed" in errors_of_save(cluster, replace(settings_given, username="you"))["password"]


@pytest.mark.usefixtures("encryption_key")
def test_keys_are_rotated_and_watched_for_sources_too(
    cluster: Cluster, odd_server: OddServer, settings: DjangoSettings
) -> None:
    settings_given = settings_of(odd_server, authentication="basic", username="me", password="secret")
    services.source_save(user=None, cluster=cluster, settings=settings_given)
    settings.ENCRYPTION_KEYS = ["another-key-for-tests-of-32-characters", KEY]
    assert keys_rotate() == (1, [])
    settings.ENCRYPTION_KEYS = ["another-key-for-tests-of-32-characters"]
    assert credential_open(cluster, model=WatermarkCredential).password == "secret"
    settings.ENCRYPTION_KEYS = ["a-third-key-for-tests-of-32-characters"]
    assert canary_check() == ["metered"]
    assert run(cluster, 1_700_000_000)
    assert "cannot be opened" in selectors.source_get(cluster).error


def test_http_is_refused_where_a_secret_would_go_over_it(
    cluster: Cluster, odd_server: OddServer, settings: DjangoSettings
) -> None:
    settings_given = settings_of(odd_server)
    settings.CLUSTER_ALLOW_INSECURE = False
    services.source_save(user=None, cluster=cluster, settings=settings_given)
    with_token = replace(settings_given, authentication="bearer", token="t")
    settings.ENCRYPTION_KEYS = [KEY]
    assert "must be an https:// address" in errors_of_save(cluster, with_token)["address"]


def test_each_interval_is_collected_once(cluster: Cluster, odd_server: OddServer) -> None:
    services.source_save(user=None, cluster=cluster, settings=settings_of(odd_server))
    begin = 1_700_000_040
    assert run(cluster, begin)
    assert not run(cluster, begin + 10)
    assert run(cluster, begin + 60)
    assert values_and_error(cluster) == ([60, 30, 30], "")
    assert Sample.objects.filter(resolution=Resolution.COLLECTED).count() == 4
    watermarks = selectors.current_watermarks(cluster, begin + 30)
    assert watermarks is not None
    assert watermarks.updated.tolist() == [begin] * 3


def test_a_run_that_is_going_on_is_not_begun_twice_and_one_that_died_is_taken_over(
    cluster: Cluster, odd_server: OddServer
) -> None:
    services.source_save(user=None, cluster=cluster, settings=settings_of(odd_server))
    now = 1_700_000_040.0
    dead = services.run_claim(cluster_id=cluster.pk, now=now)
    assert dead is not None
    assert services.run_claim(cluster_id=cluster.pk, now=now + 60) is None
    assert services.run_claim(cluster_id=cluster.pk, now=now + 60, due_only=False) is None
    WatermarkSource.objects.update(running_since=timezone.now() - timedelta(seconds=121))
    heir = services.run_claim(cluster_id=cluster.pk, now=now + 120)
    assert heir is not None
    # The one that was taken for dead comes back: it neither keeps figures nor ends the other's run.
    services.run_collection(source=dead, now=now)
    assert not Sample.objects.exists()
    assert WatermarkSource.objects.get().running_since == heir.running_since
    services.run_collection(source=heir, now=now + 120)
    assert values_and_error(cluster)[0] == [60, 30, 30]


def test_settings_changed_during_a_run_discard_its_figures(cluster: Cluster, odd_server: OddServer) -> None:
    settings_given = settings_of(odd_server)
    services.source_save(user=None, cluster=cluster, settings=settings_given)
    begun = services.run_claim(cluster_id=cluster.pk, now=1_700_000_040)
    assert begun is not None
    services.source_save(user=None, cluster=cluster, settings=replace(settings_given, unit="allocatable-percent"))
    services.run_collection(source=begun, now=1_700_000_040)
    assert not Sample.objects.exists()
    assert run(cluster, 1_700_000_041)
    assert values_and_error(cluster)[0] == [30, 30, 30]


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"cpu": by_instance(node_a="NaN", node_b="NaN"), "memory": by_instance(node_a="NaN")}, "All values are NaN"),
        ({}, "The query gives nothing"),
        ({"cpu": by_instance(node_a=4e12, node_b=9e12), "memory": by_instance(node_a=0.2, node_b=0.3)}, "look like"),
    ],
)
def test_bad_answers_keep_the_last_good_figures_with_their_age_and_are_said(
    cluster: Cluster, odd_server: OddServer, answers: dict[str, dict[str, object]], words: str
) -> None:
    services.source_save(user=None, cluster=cluster, settings=settings_of(odd_server))
    begin = 1_700_000_040
    run(cluster, begin)
    answer_queries(odd_server, answers)
    run(cluster, begin + 60)
    values, error = values_and_error(cluster)
    assert values == [60, 30, 30]
    assert words in error
    freshness = selectors.load_freshness(cluster, begin + 600)
    assert (freshness.age, freshness.stale) == (600, True)
    answer_queries(odd_server, GOOD)
    run(cluster, begin + 120)
    assert selectors.load_freshness(cluster, begin + 120).age == 0
    assert selectors.source_get(cluster).error == ""


def test_a_prometheus_that_is_down_for_hours_leaves_what_was_known(cluster: Cluster, odd_server: OddServer) -> None:
    services.source_save(user=None, cluster=cluster, settings=settings_of(odd_server))
    begin = 1_700_000_040
    run(cluster, begin)
    odd_server.answer = lambda request: (502, {"Content-Type": "text/html"}, b"<html>bad gateway</html>")
    for later in (60, 120, 10_800):
        assert run(cluster, begin + later)
    assert values_and_error(cluster) == ([60, 30, 30], "The server answered with status 502.")
    source = selectors.source_get(cluster)
    assert source.ran_at is not None
    assert source.succeeded_at is not None
    assert source.ran_at > source.succeeded_at


def test_a_failure_that_nobody_foresaw_ends_the_run_and_the_next_one_begins(
    cluster: Cluster, odd_server: OddServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.source_save(user=None, cluster=cluster, settings=settings_of(odd_server))

    def raise_error(**_: object) -> None:
        raise RuntimeError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(storage, "samples_store", raise_error)
        assert run(cluster, 1_700_000_040)
    assert "did not foresee" in selectors.source_get(cluster).error
    assert selectors.source_get(cluster).running_since is None
    assert run(cluster, 1_700_000_100)
    assert values_and_error(cluster)[1] == ""


@pytest.mark.django_db(transaction=True)
def test_the_tasks_collect_each_cluster_whose_turn_it_is(
    odd_server: OddServer, settings: DjangoSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    metered_cluster, other_cluster = store_cluster(), store_cluster("other")
    services.source_save(user=None, cluster=metered_cluster, settings=settings_of(odd_server))
    messages: list[tuple[list[str], dict[str, object]]] = []
    monkeypatch.setattr(tasks.collect, "apply_async", lambda args, **options: messages.append((args, options)))
    assert tasks.collect_due() == 1
    assert messages == [([str(metered_cluster.pk)], {"expires": 60})]
    assert tasks.collect(*messages[0][0]) is True
    assert tasks.collect(*messages[0][0]) is False  # delivered twice
    assert tasks.collect_due() == 0
    assert tasks.collect(str(other_cluster.pk)) is False
    assert values_and_error(metered_cluster)[0] == [60, 30, 30]
    updated = selectors.load_freshness(metered_cluster, time.time()).updated
    assert updated is not None
    assert abs(time.time() - updated.timestamp()) < 30


def test_asking_for_a_run_needs_a_source(cluster: Cluster, odd_server: OddServer, admin: User) -> None:
    with pytest.raises(Conflict, match="no source of figures"):
        services.run_ask(user=admin, cluster=cluster)
    services.source_save(user=None, cluster=cluster, settings=settings_of(odd_server))
    services.run_ask(user=admin, cluster=cluster)
    assert AuditEntry.objects.latest("pk").verb == "watermarks.run-asked"


def test_old_samples_are_forgotten_as_the_source_says(cluster: Cluster, odd_server: OddServer) -> None:
    services.source_save(user=None, cluster=cluster, settings=settings_of(odd_server, keep_hours=2))
    demo = store_cluster("demo")
    figure, now = Figure(NODE, "cpu", "15m"), 1_700_000_000
    for at in (now - 3 * 3600, now):
        for owner in (cluster, demo):
            storage.samples_store(
                cluster=owner, kind=NODE, names=["node-a"], rows=[(at, {figure: [1.0]})], origin="demo"
            )
    assert services.samples_forget(now=now) == 1
    assert Sample.objects.filter(series__cluster=demo).count() == 2  # no source, so nothing says how long
    assert Members.objects.count() == 2


def test_a_secret_sealed_for_one_purpose_opens_for_no_other(cluster: Cluster, encryption_key: None) -> None:
    from kschedweb.clusters.connecting.credentials import credential_save
    from kschedweb.clusters.models import Credential

    credential_save(cluster=cluster, secret=Secret(server="https://api", token="t"))
    row = Credential.objects.get()
    WatermarkCredential.objects.create(cluster=cluster, key_id=row.key_id, ciphertext=row.ciphertext)
    with pytest.raises(ApplicationError, match="cannot be opened"):
        credential_open(cluster, model=WatermarkCredential)
