"""Read scenarios, and prepare them for the engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404
from django.utils.translation import gettext

from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions.snapshots import READ_AT_ONCE
from kschedweb.engine.documents.marked_documents import place_problem
from kschedweb.engine.json_types import Json
from kschedweb.engine.state.watermarks.annotations import KEY
from kschedweb.engine.state.watermarks.collected_watermarks import CollectedWatermarks
from kschedweb.engine.state.watermarks.crane import CraneError, read_annotation, time_zone
from kschedweb.engine.studies.actors.queues.keys import FIELD as QUEUES
from kschedweb.engine.studies.actors.queues.setting_paths import (
    SettingError,
    Value,
    build_settings,
    format_settings,
    list_values,
    read_settings,
)
from kschedweb.engine.studies.actors.queues.setup import QUOTA_KINDS, prepare_queues
from kschedweb.engine.studies.document.document import ScenarioDocument, ScenarioError
from kschedweb.engine.studies.document.parts import NONE as NO_USE
from kschedweb.engine.studies.document.parts import UsageSource
from kschedweb.engine.studies.prepare.prepared import PreparedScenario, prepare_scenario, with_actor
from kschedweb.playground.scenarios import transfer, uploads
from kschedweb.playground.scenarios.effect import shorten_document
from kschedweb.playground.scenarios.models import FileKind, Scenario, ScenarioFile, ScenarioRevision, readable_by
from kschedweb.playground.scenarios.picture import Picture
from kschedweb.playground.scenarios.picture import draw_picture as drawn
from kschedweb.playground.scenarios.ready import Ready, all_ready
from kschedweb.playground.scenarios.validation import CheckedScenario, check_scenario
from kschedweb.policies.revisions.selectors import get_revision, with_newest
from kschedweb.watermarks.selectors import current_watermarks, load_collected
from kschedweb.web.counting import format_count
from kschedweb.web.errors import FieldProblem, Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.engine.documents.marked_documents import MarkedProblem


def scenario_list(user: User) -> QuerySet[Scenario]:
    """Return the scenarios that ``user`` may see, each with ``newest`` (number), ``changed_at`` and ``changed_by``."""
    rows = with_newest(Scenario.objects.select_related("created_by"), ScenarioRevision.objects.all(), "scenario")
    return rows.filter(readable_by(user)).order_by("name", "id")


def scenario_get(user: User, scenario_id: UUID | str) -> Scenario:
    """Return the scenario of this id; raise ``Http404`` if ``user`` may see no such scenario."""
    scenario = scenario_list(user).filter(pk=scenario_id).first()
    if scenario is None:
        raise Http404("There is no such scenario, or whoever made it has not shared it.")
    return scenario


def revision_list(scenario: Scenario) -> QuerySet[ScenarioRevision]:
    """Return the revisions of ``scenario``, newest first."""
    return scenario.revisions.select_related("scenario", "author").order_by("-number")


def revision_get(scenario: Scenario, number: int | None = None) -> ScenarioRevision:
    """Return revision ``number``, by default the newest; raise ``Http404`` if it does not exist."""
    return get_revision(revision_list(scenario), number, f"Scenario {scenario.name}")


def list_queue_settings(revision: ScenarioRevision) -> dict[str, Value]:
    """Return the settings of the scenario's quota queues by their paths; none if it has no quota queues.

    Raises Unprocessable.
    """
    document = check_scenario(revision.text).document
    settings = None if document is None else document.actors.get(QUEUES.name)
    if document is None or settings is None:
        return {}
    queues = [raw for raw in (*load_base(revision).objects, *document.objects) if raw.get("kind") in QUOTA_KINDS]
    try:
        part = prepare_queues(queues, settings)
    except ScenarioError as error:
        raise Unprocessable(f"The scenario cannot be run: {error}") from None
    return list_values(part.objects, settings)


def cluster_version(revision: ScenarioRevision) -> str:
    """Return the version of the cluster that the scenario begins with; "" for no cluster, or an unknown version."""
    return "" if revision.snapshot is None else revision.snapshot.cluster.server_version


def newest_revisions() -> QuerySet[ScenarioRevision]:
    """Return the newest revision of each scenario, and with it the scenario."""
    later = ScenarioRevision.objects.filter(scenario=OuterRef("scenario"), number__gt=OuterRef("number"))
    return ScenarioRevision.objects.filter(~Exists(later)).select_related("scenario")


def file_get(scenario: Scenario, name: str) -> ScenarioFile:
    """Return the file ``name`` of ``scenario``; raise ``Http404`` if there is none."""
    file = scenario.files.filter(name=name).first()
    if file is None:
        raise Http404(f"Scenario {scenario.name} has no file {name}.")
    return file


def file_list(scenario: Scenario) -> QuerySet[ScenarioFile]:
    """Return the files without their content."""
    return scenario.files.select_related("created_by").defer("content")


def snapshot_choices() -> dict[str, str]:
    """Return the complete snapshots that a scenario can start from as id and label, newest of each cluster first."""
    # Snapshots with a moment were rebuilt from a flight recorder; the pages of recordings offer these.
    rows = Snapshot.objects.filter(complete=True, moment=None).order_by("cluster__name", "-taken_at", "-id")
    return {
        str(pk): gettext("%(cluster)s, %(taken)s UTC (%(nodes)s, %(pods)s)")
        % {
            "cluster": name,
            "taken": f"{taken_at:%Y-%m-%d %H:%M}",
            "nodes": format_count(counts.get("Node", 0), "nodes"),
            "pods": format_count(counts.get("Pod", 0), "pods"),
        }
        for pk, name, taken_at, counts in rows.values_list("pk", "cluster__name", "taken_at", "counts")
    }


def has_real_use(revision: ScenarioRevision) -> bool:
    """Return whether anything in ``revision`` says what nodes really use: figures, or annotations of nodes.

    A large cluster is not read, and counts as one with annotations, as do the nodes of records.
    """
    document = revision.document
    if (document.get("use") or {}).get("from", NO_USE) != NO_USE or KEY in revision.text:
        return True
    traces = [arrival.get("trace") or {} for arrival in document.get("arrivals") or () if isinstance(arrival, Mapping)]
    if any(trace.get("format") == FileKind.RECORDS for trace in traces) or not at_hand(revision, seed=1):
        return True
    objects = [*load_base(revision).objects, *(document.get("objects") or ())]
    return any(_is_annotated_with_use(manifest) for manifest in objects if manifest.get("kind") == "Node")


def _is_annotated_with_use(node: Json) -> bool:
    """Return whether an annotation of ``node`` is of kschedweb or crane-scheduler."""
    annotations = (node.get("metadata") or {}).get("annotations") or {}
    return KEY in annotations or any(map(_is_crane_reading, map(str, annotations.values())))


def _is_crane_reading(text: str) -> bool:
    try:
        read_annotation(text, time_zone(""))
    except CraneError:
        return False
    return True


# Snapshots and files never change, and the editor reads the base at each change. 80 MB for 10,000 pods on 5,000 nodes.
_bases: LRU[ScenarioBase] = LRU(2)


@dataclass(frozen=True)
class ScenarioBase:
    """The cluster at the start of a revision."""

    # Raw Kubernetes objects, which are shared and must not be changed.
    objects: list[Json]
    # Seconds of the epoch; 0 for an empty cluster.
    taken_at: float
    # Name of the cluster; "" for an empty one.
    cluster: str
    # None for an empty cluster, and for one that was imported with the scenario.
    snapshot: Snapshot | None = None


def load_base(revision: ScenarioRevision) -> ScenarioBase:
    """Return the cluster at the start of ``revision``; raise ``Unprocessable`` if it was deleted."""
    return start_of(revision.scenario, check_scenario(revision.text))


def start_of(scenario: Scenario, checked: CheckedScenario) -> ScenarioBase:
    """Return the cluster at the start of a document of ``scenario``: an imported file, or else a snapshot."""
    snapshot_id = checked.snapshot
    if not snapshot_id:
        return ScenarioBase([], 0.0, "")
    brought = file_list(scenario).filter(name=transfer.snapshot_file(snapshot_id)).first()
    if brought is not None:
        return _bases.get(brought.sha256, lambda: _imported_base(brought))
    try:
        snapshots = (
            Snapshot.objects.select_related("cluster").defer("content").filter(pk=UUID(snapshot_id), complete=True)
        )
        snapshot = snapshots.first()
    except ValueError:
        snapshot = None
    if snapshot is None:
        message = f"There is no snapshot {snapshot_id}: choose one of a cluster, or start from an empty one."
        problems = [place_problem(checked.parsed, "base.snapshot", message)] if checked.parsed else []
        raise _invalid_scenario(message, problems)
    name, taken_at = snapshot.cluster.name, snapshot.taken_at.timestamp()
    # The name of the cluster is part of the key, since clusters can be renamed.
    return _bases.get((snapshot.pk, name), lambda: ScenarioBase(snapshot_objects(snapshot), taken_at, name, snapshot))


def _imported_base(file: ScenarioFile) -> ScenarioBase:
    body = json.loads(uploads.read_text(file))
    return ScenarioBase(body["objects"], float(body["takenAt"]), body["cluster"])


# Nodes and pods of drawn bases: the list draws every ready scenario.
_objects: LRU[list[Json]] = LRU(16)


def draw_base(revision: ScenarioRevision) -> Picture:
    """Draw the cluster at the start of ``revision``, before its changes. The caller may change the drawing."""

    def read_objects() -> list[Json]:
        objects = [*load_base(revision).objects, *(revision.document.get("objects") or ())]
        return [manifest for manifest in objects if manifest.get("kind") in ("Node", "Pod")]

    return drawn(_objects.get((revision.scenario_id, revision.number), read_objects))


@dataclass(frozen=True)
class ListedScenario:
    """A ready scenario in the list."""

    ready: Ready
    scenario: Scenario
    picture: Picture


def ready_list() -> list[ListedScenario]:
    """Return the ready scenarios that are in the database, in order."""
    revisions_by_id = {row.scenario_id: row for row in newest_revisions().filter(scenario__built_in=True)}
    return [
        ListedScenario(ready.translated, revisions_by_id[ready.id].scenario, draw_base(revisions_by_id[ready.id]))
        for ready in all_ready()
        if ready.id in revisions_by_id
    ]


class Files(Mapping[str, bytes]):
    """The gzipped files of a scenario by name, read on demand."""

    def __init__(self, scenario: Scenario) -> None:
        # A snapshot is the base, not a file that a document names.
        self._names = list(scenario.files.exclude(kind=FileKind.SNAPSHOT).values_list("name", flat=True))
        self._scenario = scenario

    def __getitem__(self, name: str) -> bytes:
        if name not in self._names:
            raise KeyError(name)
        return bytes(file_get(self._scenario, name).content)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


# Preparing takes seconds for a large cluster, and runs with equal seeds share it.
_prepared: LRU[PreparedScenario] = LRU(3)


def prepare_revision(revision: ScenarioRevision, seed: int) -> PreparedScenario:
    """Prepare ``revision`` for the engine; equal for an equal seed. The result is cached and must not be changed.

    Raises ``Unprocessable`` with the path of what is impossible.
    """
    return _prepared.get(
        (revision.scenario_id, revision.number, seed),
        lambda: make_ready(revision.text, load_base(revision), revision.scenario, seed),
    )


def with_queue_settings(
    scenario: PreparedScenario, document: ScenarioDocument | None, values: Mapping[str, Value]
) -> PreparedScenario:
    """Return ``scenario`` with settings of quota queues by their paths instead of its own. Raises Unprocessable."""
    own = None if document is None else document.actors.get(QUEUES.name)
    try:
        changes = read_settings(build_settings(values))
        return with_actor(scenario, QUEUES.name, changes if own is None else own.with_changes(changes))
    except (ScenarioError, SettingError) as error:
        raise Unprocessable(f"The quota queues cannot be set to {format_settings(values)}: {error}") from None


def at_hand(revision: ScenarioRevision, seed: int) -> bool:
    """Return whether a request may call ``prepare_revision``: the cluster is small, or this process has it in its
    cache."""
    if (revision.scenario_id, revision.number, seed) in _prepared.cached_keys():
        return True
    snapshot_id = check_scenario(revision.text).snapshot
    if not snapshot_id:
        return True
    brought = file_list(revision.scenario).filter(name=transfer.snapshot_file(snapshot_id)).first()
    sizes = (
        Snapshot.objects.filter(pk=snapshot_id).values_list("size", flat=True) if brought is None else [brought.size]
    )
    return all(size <= READ_AT_ONCE for size in sizes)


def prepare_preview(text: str, start: ScenarioBase, scenario: Scenario) -> PreparedScenario:
    """Prepare as :func:`make_ready` does, with few enough arrivals for a preview."""
    return make_ready(text, start, scenario, seed=1, change=shorten_document)


def make_ready(
    text: str,
    start: ScenarioBase,
    scenario: Scenario,
    seed: int,
    change: Callable[[ScenarioDocument], ScenarioDocument] = lambda it: it,
) -> PreparedScenario:
    """Prepare ``text``, which may be unsaved, on ``start`` with the files of ``scenario``.

    ``change`` replaces the document that was read.
    """
    checked = check_scenario(text, files=Files(scenario))
    if checked.document is None or checked.problems:
        raise _invalid_scenario("The scenario is not valid.", checked.problems)
    files, use = Files(scenario), checked.document.use
    # Figures that were stored with the scenario take precedence: collected samples are deleted some day.
    brought = checked.figures in list(files)
    figures = None if brought or start.snapshot is None else figures_of(use, start.snapshot)
    try:
        return prepare_scenario(
            change(checked.document), start.objects, files, seed=seed, now=start.taken_at, utilisation=figures
        )
    except ScenarioError as error:
        assert checked.parsed is not None
        problems = [place_problem(checked.parsed, problem.path, problem.text) for problem in error.problems]
        raise _invalid_scenario(f"The scenario cannot be run: {error}", problems) from None


def figures_of(use: UsageSource, snapshot: Snapshot) -> CollectedWatermarks | None:
    """Return the collected figures of the cluster of ``snapshot`` that ``use`` needs; ``None`` if it needs none."""
    taken_at = snapshot.taken_at.timestamp()
    if use.history_seconds:
        return load_collected(snapshot.cluster, taken_at - use.history_seconds, taken_at)
    figures = current_watermarks(snapshot.cluster, taken_at) if use.is_collected else None
    return None if figures is None else CollectedWatermarks.from_watermarks(figures, taken_at)


def _invalid_scenario(detail: str, problems: list[MarkedProblem]) -> Unprocessable:
    return Unprocessable(detail, errors=[cast("FieldProblem", problem.as_dict()) for problem in problems])


def export_revision(revision: ScenarioRevision) -> bytes:
    """Return ``revision`` with everything it needs as gzipped JSON."""
    start = load_base(revision)
    checked = check_scenario(revision.text)
    snapshot_id = checked.snapshot
    snapshot = {"id": snapshot_id, "cluster": start.cluster, "takenAt": start.taken_at, "objects": start.objects}
    rows = revision.scenario.files.exclude(kind=FileKind.SNAPSHOT)
    files = [(row.name, row.kind, uploads.read_text(row).decode()) for row in rows]
    if start.snapshot is not None and checked.document and checked.figures not in [name for name, _, _ in files]:
        # An old revision, from before figures were stored with the scenario.
        figures = figures_of(checked.document.use, start.snapshot)
        files += [(checked.figures, FileKind.FIGURES, "\n".join(figures.to_lines()))] if figures else []
    return transfer.pack_export(revision.text, snapshot if snapshot_id else None, files)
