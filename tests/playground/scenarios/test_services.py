"""Scenarios are made, saved, restored, copied, shared and deleted; nothing is lost and everything is written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404

from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters import services as clusters
from kschedweb.clusters.models import Cluster, Snapshot
from kschedweb.playground.scenarios import selectors, services, uploads
from kschedweb.playground.scenarios.models import FileKind, Scenario
from kschedweb.web.errors import Conflict, NotFound, PreconditionFailed
from tests.support import seed
from tests.support.scenarios import EMPTY, MIB, NODES, on_cluster

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def empty(editor: User) -> Scenario:
    scenario = services.scenario_create(text=EMPTY, author=editor, comment="first")
    return selectors.scenario_get(editor, scenario.pk)


def test_a_scenario_begins_with_revision_1_and_keeps_the_text(empty: Scenario, editor: User) -> None:
    revision = selectors.revision_get(empty)
    assert (revision.number, revision.text, revision.author, revision.comment) == (1, EMPTY, editor, "first")
    assert (empty.name, empty.slug, empty.newest) == ("Nothing at all", "nothing-at-all", 1)
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.verb, entry.object_name, entry.actor) == ("scenario.created", "Nothing at all", editor)


def test_saving_makes_the_next_revision_and_takes_over_name_and_description(empty: Scenario, editor: User) -> None:
    text = EMPTY.replace("Nothing at all", "Nearly nothing\ndescription: one line")
    revision = services.scenario_save(scenario=empty, text=text, author=editor, expected=1)
    scenario = selectors.scenario_get(editor, empty.pk)
    assert (revision.number, scenario.name, scenario.description) == (2, "Nearly nothing", "one line")
    assert selectors.revision_get(scenario, 1).text == EMPTY


def test_the_same_text_makes_no_revision(empty: Scenario, editor: User) -> None:
    assert services.scenario_save(scenario=empty, text=EMPTY, author=editor, expected=1).number == 1


def test_a_lost_update_is_refused(empty: Scenario, editor: User) -> None:
    services.scenario_save(scenario=empty, text=EMPTY + "# more\n", author=editor, expected=1)
    with pytest.raises(PreconditionFailed, match="you edited revision 1"):
        services.scenario_save(scenario=empty, text=EMPTY + "# other\n", author=editor, expected=1)
    assert selectors.revision_get(empty).text.endswith("# more\n")


def test_restoring_saves_what_an_old_revision_said(empty: Scenario, editor: User) -> None:
    services.scenario_save(scenario=empty, text=EMPTY.replace("Nothing", "Something"), author=editor, expected=1)
    revision = services.scenario_restore(scenario=empty, number=1, author=editor, expected=2)
    assert (revision.number, revision.text, revision.comment) == (3, EMPTY, "Restored revision 1")
    assert selectors.scenario_get(editor, empty.pk).name == "Nothing at all"
    with pytest.raises(NotFound):
        services.scenario_restore(scenario=empty, number=9, author=editor, expected=3)


def test_renaming_changes_one_line_and_keeps_comments(empty: Scenario, editor: User) -> None:
    revision = services.scenario_rename(scenario=empty, name="Emptiness", author=editor, expected=1)
    assert revision.text == EMPTY.replace("Nothing at all", "Emptiness")
    assert revision.comment == "Renamed from Nothing at all"


@pytest.mark.parametrize("name", ["Nothing at all", "nothing AT all", "Nothing-at-all"])
def test_a_name_is_there_once_however_it_is_written(empty: Scenario, editor: User, name: str) -> None:
    with pytest.raises(Conflict, match="already"):
        services.scenario_create(text=EMPTY.replace("Nothing at all", name), author=editor)
    assert Scenario.objects.count() == 1


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("name: Nothing at all\n", "", "name"),
        ("Nothing at all", "'  '", "name"),
        ("Nothing at all", "'!?'", "name"),
        ("Nothing at all", "n" * 101, "name"),
        ("empty: true", "snapshot: 6e5b4a3f-0000-4000-8000-000000000000", "base.snapshot"),
        ("empty: true", "snapshot: nonsense", "base.snapshot"),
        ("base:\n", "changes:\n  - drainNodes: {}\nbase:\n", "changes[0].drainNodes"),
        ("base:\n", "speed: 3\nbase:\n", "speed"),
        ("base:\n", "arrivals:\n  - trace: {file: pods.csv, format: openb}\nbase:\n", "arrivals[0].trace.file"),
    ],
)
def test_a_document_that_cannot_be_run_is_refused_with_path_and_line(
    editor: User, old: str, new: str, path: str
) -> None:
    assert old in EMPTY
    with pytest.raises(services.InvalidScenario) as caught:
        services.scenario_create(text=EMPTY.replace(old, new), author=editor)
    problem: dict[str, Any] = dict(caught.value.errors[0])
    assert problem["path"] == path
    assert problem["message"]
    assert problem["line"] >= 1
    assert not Scenario.objects.exists()


def test_only_who_made_it_and_admins_see_it_until_it_is_shared(
    empty: Scenario, editor: User, viewer: User, admin: User
) -> None:
    assert selectors.scenario_get(admin, empty.pk) == empty
    with pytest.raises(Http404):
        selectors.scenario_get(viewer, empty.pk)
    services.scenario_share(scenario=empty, shared=True, author=editor)
    assert selectors.scenario_get(viewer, empty.pk) == empty
    services.scenario_share(scenario=empty, shared=False, author=editor)
    assert not selectors.scenario_list(viewer).exists()


def test_another_one_may_copy_but_not_change_what_is_shared(empty: Scenario, editor: User, approver: User) -> None:
    services.scenario_share(scenario=empty, shared=True, author=editor)
    with pytest.raises(PermissionDenied, match="belongs to somebody else"):
        services.scenario_save(scenario=empty, text=EMPTY + "#\n", author=approver, expected=1)
    with pytest.raises(PermissionDenied, match="belongs to somebody else"):
        services.scenario_delete(scenario=empty, author=approver)
    with pytest.raises(PermissionDenied, match="belongs to somebody else"):
        services.scenario_share(scenario=empty, shared=False, author=approver)
    copy = services.scenario_copy(revision=selectors.revision_get(empty), author=approver)
    assert (copy.name, copy.created_by, copy.shared) == ("Nothing at all 2", approver, False)


def test_what_comes_with_the_site_is_read_by_all_and_changed_by_none(viewer: User, admin: User) -> None:
    scenario = services.scenario_create(text=EMPTY, author=None, built_in=True)
    assert selectors.scenario_get(viewer, scenario.pk) == scenario
    with pytest.raises(PermissionDenied, match="comes with the site"):
        services.scenario_delete(scenario=scenario, author=admin)


def test_a_copy_brings_its_files_along(empty: Scenario, editor: User) -> None:
    services.file_add(scenario=empty, upload=uploads.read_upload("nodes.csv", NODES.encode(), limit=MIB), author=editor)
    copy = services.scenario_copy(revision=selectors.revision_get(empty), author=editor, name="Mine", description="why")
    assert copy.files.get().sha256 == empty.files.get().sha256
    assert (copy.name, copy.description) == ("Mine", "why")
    assert selectors.revision_get(copy).text.startswith("# What if nothing is there?")


def test_deleting_takes_everything_along(empty: Scenario, editor: User) -> None:
    services.scenario_delete(scenario=empty, author=editor)
    assert not Scenario.objects.exists()
    assert AuditEntry.objects.filter(verb="scenario.deleted", object_name="Nothing at all").exists()


def test_a_snapshot_that_a_scenario_starts_from_stays(editor: User, admin: User) -> None:
    services.scenario_create(text=on_cluster(editor), author=editor)
    cluster = Cluster.objects.get(name="small")
    snapshot = Snapshot.objects.get()
    for number in range(settings.KEEP_SNAPSHOTS + 2):
        clusters.snapshot_store(cluster=cluster, objects=[seed.node(f"n{number}")], problems=[])
    assert Snapshot.objects.filter(pk=snapshot.pk).exists()
    assert Snapshot.objects.count() == settings.KEEP_SNAPSHOTS + 1
    with pytest.raises(Conflict, match="Scenarios start from snapshots of small"):
        clusters.cluster_delete(user=admin, cluster=cluster)
    assert Cluster.objects.filter(name="small").exists()


def test_a_file_is_kept_once_and_never_replaced(empty: Scenario, editor: User) -> None:
    first = uploads.read_upload("nodes.csv", NODES.encode(), limit=MIB)
    row = services.file_add(scenario=empty, upload=first, author=editor)
    assert (row.kind, row.lines, row.size) == (FileKind.NODES, 2, len(NODES))
    assert services.file_add(scenario=empty, upload=first, author=editor) == row
    changed_upload = uploads.read_upload("nodes.csv", NODES.replace("64000", "32000").encode(), limit=MIB)
    with pytest.raises(Conflict, match="choose another name"):
        services.file_add(scenario=empty, upload=changed_upload, author=editor)


def test_a_file_that_a_revision_reads_cannot_be_deleted(empty: Scenario, editor: User) -> None:
    services.file_add(scenario=empty, upload=uploads.read_upload("nodes.csv", NODES.encode(), limit=MIB), author=editor)
    text = EMPTY + "changes:\n  - addNodes: {file: nodes.csv}\n"
    services.scenario_save(scenario=empty, text=text, author=editor, expected=1)
    services.scenario_save(scenario=empty, text=EMPTY, author=editor, expected=2)
    with pytest.raises(Conflict, match="Revision 2 reads"):
        services.file_delete(scenario=empty, name="nodes.csv", author=editor)
    services.file_add(scenario=empty, upload=uploads.read_upload("other.csv", b"a,b\n1,2\n", limit=MIB), author=editor)
    services.file_delete(scenario=empty, name="other.csv", author=editor)
    assert [file.name for file in empty.files.all()] == ["nodes.csv"]


def test_the_same_revision_and_seed_are_prepared_once(editor: User) -> None:
    scenario = services.scenario_create(text=on_cluster(editor), author=editor)
    revision = selectors.revision_get(scenario)
    assert selectors.prepare_revision(revision, seed=1) is selectors.prepare_revision(
        selectors.revision_get(scenario), seed=1
    )
    assert len(selectors.load_base(revision).objects) == 14
    assert selectors.load_base(revision).objects is selectors.load_base(revision).objects
