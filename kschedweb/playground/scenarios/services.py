"""Changes of scenarios. Only revisions that the engine accepts are saved, and they never change."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import ProtectedError, Q, QuerySet
from django.utils.text import slugify
from django.utils.translation import gettext

from kschedweb.accounts import audit
from kschedweb.accounts.roles import may_change
from kschedweb.clusters.models import Cluster, Snapshot
from kschedweb.engine.documents.files import MOST_BYTES
from kschedweb.engine.documents.marked_documents import place_problem, with_final_newline
from kschedweb.engine.state.watermarks.collected_watermarks import CollectedWatermarks
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.prepare.history import create_replay
from kschedweb.engine.studies.traces.text import read_lines
from kschedweb.playground.scenarios import selectors, transfer, uploads
from kschedweb.playground.scenarios.models import (
    NAME_LIMIT,
    UNNAMED,
    FileKind,
    Scenario,
    ScenarioFile,
    ScenarioRevision,
)
from kschedweb.playground.scenarios.validation import CheckedScenario, check_scenario
from kschedweb.policies.editing.yaml_edits import rewrite_yaml
from kschedweb.policies.revisions import services as revisions
from kschedweb.web.conflicts import conflict_where
from kschedweb.web.errors import Conflict, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kschedweb.accounts.models import User

# Files of a scenario that documents can name.
MOST_FILES = 20


class InvalidScenario(revisions.InvalidRevision):
    default_detail = "This is not a scenario that can be run."


@transaction.atomic
def scenario_create(
    *,
    text: str,
    author: User | None,
    comment: str = "",
    shared: bool = False,
    built_in: bool = False,
    files: Iterable[uploads.Upload] = (),
    id: UUID | None = None,
) -> Scenario:
    """Create a scenario with revision 1 and the name in ``text``; raise ``Conflict`` if the name is taken.

    ``files`` are those that the text names (:func:`uploads.read_upload`); ``id`` is random by default. Raises
    :class:`InvalidScenario`.
    """
    text, uploaded = with_final_newline(text), list(files)
    checked = check_scenario(text, files=[upload.name for upload in uploaded])
    snapshot = _find_base(checked, [upload.name for upload in uploaded if upload.kind == FileKind.SNAPSHOT])
    scenario = Scenario(id=id or uuid4(), shared=shared, built_in=built_in, created_by=author)
    _set_name(scenario, checked)
    ScenarioFile.objects.bulk_create(upload.to_row(scenario, author) for upload in uploaded)
    _keep_figures(scenario, checked, snapshot, author)
    _create_revision(scenario, 1, text, snapshot, comment, author)
    audit.record(author, "scenario.created", scenario, scenario.name, revision=1)
    return scenario


@transaction.atomic
def scenario_save(
    *, scenario: Scenario, text: str, author: User | None, expected: int, comment: str = ""
) -> ScenarioRevision:
    """Save the next revision of ``scenario``; return the newest one if the text has not changed.

    ``expected`` is the number of the edited revision; raises ``PreconditionFailed`` if it is not the newest.
    """
    newest = _lock_newest(scenario, author, expected)
    revision = _save_revision(scenario, newest, with_final_newline(text), comment, author)
    if revision != newest:
        audit.record(author, "scenario.saved", scenario, scenario.name, revision=revision.number, comment=comment)
    return revision


@transaction.atomic
def scenario_restore(*, scenario: Scenario, number: int, author: User | None, expected: int) -> ScenarioRevision:
    """Save a new revision with the text of revision ``number``."""
    newest = _lock_newest(scenario, author, expected)
    old = scenario.revisions.filter(number=number).first()
    if old is None:
        raise NotFound(f"Scenario {scenario.name} has no revision {number}.")
    revision = _save_revision(scenario, newest, old.text, f"Restored revision {number}", author)
    if revision != newest:
        audit.record(author, "scenario.restored", scenario, scenario.name, revision=revision.number, restored=number)
    return revision


@transaction.atomic
def scenario_rename(*, scenario: Scenario, name: str, author: User | None, expected: int) -> ScenarioRevision:
    """Save a new revision with another name."""
    newest = _lock_newest(scenario, author, expected)
    old = scenario.name
    text = rewrite_yaml(newest.text, {**newest.document, "name": name.strip()})
    revision = _save_revision(scenario, newest, text, f"Renamed from {old}", author)
    if revision != newest:
        audit.record(author, "scenario.renamed", scenario, scenario.name, revision=revision.number, before=old)
    return revision


@transaction.atomic
def scenario_copy(
    *, revision: ScenarioRevision, author: User | None, name: str = "", description: str = ""
) -> Scenario:
    """Create a scenario of ``author`` from ``revision``; an empty name or description is taken from the revision."""
    source = revision.scenario
    fields = {"name": name.strip() or name_free(source.name, author)}
    if description.strip():
        fields["description"] = description.strip()
    text = rewrite_yaml(revision.text, {**revision.document, **fields})
    files = [uploads.Upload.from_file(row) for row in source.files.all()]
    comment = f"Copied from {source.name}, revision {revision.number}"
    return scenario_create(text=text, author=author, comment=comment, files=files)


@transaction.atomic
def scenario_import(*, imported: transfer.Imported, author: User | None) -> Scenario:
    """Create a scenario of ``author`` from a file (:func:`transfer.read_export`); a taken name gets a number."""
    checked = check_scenario(imported.text)
    text = imported.text
    if checked.valid and (name := name_free(checked.name, author)) != checked.name.strip():
        text = rewrite_yaml(text, {**checked.data, "name": name})
    return scenario_create(text=text, author=author, comment="Imported", files=imported.files)


@transaction.atomic
def scenario_share(*, scenario: Scenario, shared: bool, author: User | None) -> Scenario:
    """Share ``scenario`` with everyone who is signed in, or unshare it; raise ``Conflict`` if its name is taken."""
    _check_owner(scenario, author)
    if shared and scenario.private and _known_to(None).filter(slug=scenario.slug).exists():
        raise Conflict(
            gettext("There is a shared scenario named %(scenario)s already: rename this one, then share it.")
            % {"scenario": scenario.name}
        )
    if scenario.shared != shared:
        scenario.shared = shared
        scenario.save(update_fields=["shared"])
        audit.record(author, "scenario.shared" if shared else "scenario.unshared", scenario, scenario.name)
    return scenario


@transaction.atomic
def scenario_delete(*, scenario: Scenario, author: User | None) -> None:
    """Delete ``scenario`` with its revisions and files; raise ``Conflict`` while it has runs."""
    _check_owner(scenario, author)
    # Recorded before the deletion, which takes the key and the revisions away.
    audit.record(author, "scenario.deleted", scenario, scenario.name, revisions=scenario.revisions.count())
    try:
        with transaction.atomic():
            scenario.delete()
    except ProtectedError:
        raise Conflict(
            gettext("There are runs of %(scenario)s: delete them first.") % {"scenario": scenario.name}
        ) from None


@transaction.atomic
def file_add(*, scenario: Scenario, upload: uploads.Upload, author: User | None) -> ScenarioFile:
    """Add a file to ``scenario``; for equal content, return the existing row.

    Raises ``Conflict`` if a different file has the name, because revisions may read that one.
    """
    _check_owner(scenario, author)
    # The lock makes the checks below hold until the row is saved.
    Scenario.objects.select_for_update().filter(pk=scenario.pk).first()
    existing = scenario.files.filter(name=upload.name).first()
    if existing is not None and existing.sha256 == upload.sha256:
        return existing
    if existing is not None:
        raise Conflict.at("name", f"There is another file {upload.name} in this scenario: choose another name.")
    if scenario.files.exclude(kind__in=UNNAMED).count() >= MOST_FILES:
        raise Conflict(
            gettext("A scenario has at most %(most_files)s files: delete one that is not used any more.")
            % {"most_files": MOST_FILES}
        )
    row = upload.to_row(scenario, author)
    row.save()
    audit.record(author, "scenario.file-added", scenario, scenario.name, file=row.name, lines=row.lines)
    return row


@transaction.atomic
def file_delete(*, scenario: Scenario, name: str, author: User | None) -> None:
    """Delete a file; raise ``Conflict`` if a revision reads it."""
    _check_owner(scenario, author)
    # The lock blocks new revisions that could read the file.
    Scenario.objects.select_for_update().filter(pk=scenario.pk).first()
    row = scenario.files.filter(name=name).first()
    if row is None:
        raise NotFound(f"Scenario {scenario.name} has no file {name}.")
    for revision in scenario.revisions.order_by("-number"):
        checked = check_scenario(revision.text)
        base = transfer.snapshot_file(checked.snapshot), checked.figures
        if name in base or name in (used for _, used in checked.files):
            raise Conflict(
                gettext("Revision %(revision)s reads %(name)s, so it cannot be deleted.")
                % {"revision": revision.number, "name": name}
            )
    row.delete()
    audit.record(author, "scenario.file-deleted", scenario, scenario.name, file=name)


def name_free(name: str, owner: User | None) -> str:
    """Return ``name``, with a number appended if it is taken by a scenario that ``owner`` may know of."""
    # Six characters are left for a space and a number.
    stem = name.strip()[: NAME_LIMIT - 6] or "scenario"
    candidates = [stem, *(f"{stem} {number}" for number in range(2, 1000))]
    taken_slugs = set(_known_to(owner).values_list("slug", flat=True))
    return next((candidate for candidate in candidates if slug_of(candidate) not in taken_slugs), stem)


def slug_of(name: str) -> str:
    return slugify(name, allow_unicode=True)[:NAME_LIMIT]


def _save_revision(
    scenario: Scenario, newest: ScenarioRevision, text: str, comment: str, author: User | None
) -> ScenarioRevision:
    """Return a new revision with ``text``, or ``newest`` if that has the same text."""
    checked = check_scenario(text, files=scenario.files.values_list("name", flat=True))
    snapshots = scenario.files.filter(kind=FileKind.SNAPSHOT).values_list("name", flat=True)
    snapshot = _find_base(checked, snapshots)
    if text == newest.text:
        return newest
    _set_name(scenario, checked)
    _keep_figures(scenario, checked, snapshot, author)
    return _create_revision(scenario, newest.number + 1, text, snapshot, comment, author)


def _create_revision(
    scenario: Scenario, number: int, text: str, snapshot: Snapshot | None, comment: str, author: User | None
) -> ScenarioRevision:
    return ScenarioRevision.objects.create(
        scenario=scenario, number=number, text=text, snapshot=snapshot, comment=comment[:500], author=author
    )


def _keep_figures(scenario: Scenario, checked: CheckedScenario, snapshot: Snapshot | None, author: User | None) -> None:
    """Store the collected figures of the base as a file: samples are deleted some day, but revisions must not change.

    Raises :class:`InvalidScenario` if ``checked`` needs figures that do not exist.
    """
    assert checked.document is not None
    assert checked.parsed is not None
    use, row = checked.document.use, scenario.files.filter(name=checked.figures).first()
    if not use.is_collected or (row is not None and snapshot is not None):
        return
    figures = selectors.figures_of(use, snapshot) if snapshot is not None else None
    taken_at = snapshot.taken_at.timestamp() if snapshot is not None else selectors.start_of(scenario, checked).taken_at
    try:
        create_replay(
            use,
            CollectedWatermarks.from_lines(read_lines(bytes(row.content))) if row is not None else figures,
            taken_at,
        )
    except PartError as error:
        problem = error.problem_at("use")
        raise InvalidScenario([place_problem(checked.parsed, problem.path, problem.text)]) from None
    if figures is not None:
        text = "\n".join(figures.to_lines()).encode()
        uploads.read_upload(checked.figures, text, limit=MOST_BYTES, kind=FileKind.FIGURES).to_row(
            scenario, author
        ).save()


def _find_base(checked: CheckedScenario, brought: Iterable[str]) -> Snapshot | None:
    """Return the snapshot at the start of a document; raise :class:`InvalidScenario` if the document is invalid.

    Returns ``None`` for an empty cluster, and if the snapshot is among the ``brought`` files.
    """
    if not checked.valid:
        raise InvalidScenario(checked.problems)
    snapshot_id = checked.snapshot
    if not snapshot_id or transfer.snapshot_file(snapshot_id) in brought:
        return None
    snapshot = _lock_snapshot(snapshot_id)
    if snapshot is None:
        assert checked.parsed is not None
        message = f"There is no snapshot {snapshot_id}: choose one of a cluster, or start from an empty one."
        raise InvalidScenario([place_problem(checked.parsed, "base.snapshot", message)])
    return snapshot


def _lock_snapshot(snapshot_id: str) -> Snapshot | None:
    """Return the complete snapshot of this id, locked against deletion during this transaction."""
    try:
        snapshots = Snapshot.objects.filter(pk=UUID(snapshot_id), complete=True).only("pk", "cluster")
    except ValueError:
        return None
    if (snapshot := snapshots.first()) is None:
        return None
    # Taking a snapshot locks the cluster's row and deletes old snapshots that no scenario uses.
    Cluster.objects.select_for_update().filter(pk=snapshot.cluster_id).first()
    return snapshots.first()


def _set_name(scenario: Scenario, checked: CheckedScenario) -> None:
    """Set name and description from a valid document; raise ``Conflict`` if the name is taken."""
    scenario.name = checked.name.strip()
    scenario.description = str(checked.data.get("description") or "").strip()
    scenario.slug = slug_of(scenario.name)
    namesakes = _known_to(scenario.created_by).filter(slug=scenario.slug).exclude(pk=scenario.pk)
    conflict = Conflict.at("name", f"There is a scenario named {scenario.name} already: choose another name.")
    if namesakes.exists():
        raise conflict
    with conflict_where(namesakes, conflict):
        scenario.save()


def _known_to(owner: User | None) -> QuerySet[Scenario]:
    """Return the scenarios whose names ``owner`` (``None``: the system) may know; a conflict must not reveal others."""
    open_to_all = Q(shared=True) | Q(built_in=True)
    return Scenario.objects.filter(open_to_all if owner is None else open_to_all | Q(created_by=owner))


def _check_owner(scenario: Scenario, author: User | None) -> None:
    """Raise ``PermissionDenied`` unless ``author`` may change ``scenario``. ``None`` is the system, which may."""
    if author is None:
        return
    if scenario.built_in:
        raise PermissionDenied(f"{scenario.name} comes with the site: make a copy of it, and change that.")
    if not may_change(author, scenario):
        raise PermissionDenied(f"{scenario.name} belongs to somebody else: make a copy of it, and change that.")


def _lock_newest(scenario: Scenario, author: User | None, expected: int) -> ScenarioRevision:
    """Lock the scenario against new revisions and return the newest one."""
    _check_owner(scenario, author)
    return revisions.newest_locked(scenario, ScenarioRevision.objects.filter(scenario_id=scenario.pk), expected)
