"""Reads scenarios, and prepares them for the engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404
from django.utils.translation import gettext

from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions.snapshots import READ_AT_ONCE
from kschedweb.engine.documents.marked import placed
from kschedweb.engine.state.watermarks.collected import Collected
from kschedweb.engine.studies.document.document import Document, DocumentError
from kschedweb.engine.studies.document.parts import UseOf
from kschedweb.engine.studies.prepare.prepared import Prepared, prepare
from kschedweb.playground.scenarios import transfer, uploads
from kschedweb.playground.scenarios.effect import shortened
from kschedweb.playground.scenarios.models import FileKind, Scenario, ScenarioFile, ScenarioRevision, readable
from kschedweb.playground.scenarios.picture import Picture
from kschedweb.playground.scenarios.picture import picture as drawn
from kschedweb.playground.scenarios.ready import Ready, all_ready
from kschedweb.playground.scenarios.validation import Checked, check
from kschedweb.policies.revisions.selectors import numbered, with_newest
from kschedweb.watermarks.selectors import collected, current
from kschedweb.web.counting import counted
from kschedweb.web.errors import FieldProblem, Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.engine.documents.marked import MarkedProblem


def scenario_list(user: User) -> QuerySet[Scenario]:
    """The scenarios that ``user`` may see, each with ``newest`` (number), ``changed_at`` and ``changed_by``."""
    rows = with_newest(Scenario.objects.select_related("created_by"), ScenarioRevision.objects.all(), "scenario")
    return rows.filter(readable(user)).order_by("name", "id")


def scenario_get(user: User, scenario_id: UUID | str) -> Scenario:
    """The scenario of this id; raises ``Http404`` if there is none that ``user`` may see."""
    found = scenario_list(user).filter(pk=scenario_id).first()
    if found is None:
        raise Http404("There is no such scenario, or whoever made it has not shared it.")
    return found


def revision_list(scenario: Scenario) -> QuerySet[ScenarioRevision]:
    """Newest first."""
    return scenario.revisions.select_related("scenario", "author").order_by("-number")


def revision_get(scenario: Scenario, number: int | None = None) -> ScenarioRevision:
    """Revision ``number``, by default the newest; raises ``Http404`` if there is none."""
    return numbered(revision_list(scenario), number, f"Scenario {scenario.name}")


def cluster_version(revision: ScenarioRevision) -> str:
    """The version of the cluster that the scenario begins with; "" where it begins with none, or says none."""
    return "" if revision.snapshot is None else revision.snapshot.cluster.server_version


def newest_revisions() -> QuerySet[ScenarioRevision]:
    """The newest revision of each scenario, and with it the scenario."""
    later = ScenarioRevision.objects.filter(scenario=OuterRef("scenario"), number__gt=OuterRef("number"))
    return ScenarioRevision.objects.filter(~Exists(later)).select_related("scenario")


def file_get(scenario: Scenario, name: str) -> ScenarioFile:
    """The file ``name`` of ``scenario``; raises ``Http404`` if there is none."""
    found = scenario.files.filter(name=name).first()
    if found is None:
        raise Http404(f"Scenario {scenario.name} has no file {name}.")
    return found


def file_list(scenario: Scenario) -> QuerySet[ScenarioFile]:
    """The files without content."""
    return scenario.files.select_related("created_by").defer("content")


def snapshot_choices() -> dict[str, str]:
    """The complete snapshots that a scenario can start from, newest of each cluster first: id and label."""
    rows = Snapshot.objects.filter(complete=True, moment=None).order_by("cluster__name", "-taken_at", "-id")
    return {
        str(pk): gettext("%(cluster)s, %(taken)s UTC (%(nodes)s, %(pods)s)")
        % {
            "cluster": name,
            "taken": f"{taken:%Y-%m-%d %H:%M}",
            "nodes": counted(counts.get("Node", 0), "nodes"),
            "pods": counted(counts.get("Pod", 0), "pods"),
        }
        for pk, name, taken, counts in rows.values_list("pk", "cluster__name", "taken_at", "counts")
    }


# Snapshots and files never change, and the editor reads the base at each change. 80 MB for 10,000 pods on 5,000 nodes.
_bases: LRU[Base] = LRU(2)


@dataclass(frozen=True)
class Base:
    """The cluster at the start of a revision; ``taken_at`` is in seconds of the epoch, 0 for an empty cluster.

    ``objects`` are raw Kubernetes objects, which are shared and must not be changed.
    """

    objects: list[dict[str, Any]]
    taken_at: float
    cluster: str
    snapshot: Snapshot | None = None


def base(revision: ScenarioRevision) -> Base:
    """The cluster at the start of ``revision``; raises ``Unprocessable`` if it was deleted."""
    return start_of(revision.scenario, check(revision.text))


def start_of(scenario: Scenario, checked: Checked) -> Base:
    """The cluster at the start of a document of ``scenario``: an imported file, else a snapshot."""
    wanted = checked.snapshot
    if not wanted:
        return Base([], 0.0, "")
    brought = file_list(scenario).filter(name=transfer.snapshot_file(wanted)).first()
    if brought is not None:
        return _bases.get(brought.sha256, lambda: _brought(brought))
    try:
        found = Snapshot.objects.select_related("cluster").defer("content").filter(pk=UUID(wanted), complete=True)
        snapshot = found.first()
    except ValueError:
        snapshot = None
    if snapshot is None:
        said = f"There is no snapshot {wanted}: choose one of a cluster, or start from an empty one."
        problems = [placed(checked.written, "base.snapshot", said)] if checked.written else []
        raise _unprocessable(said, problems)
    name, taken_at = snapshot.cluster.name, snapshot.taken_at.timestamp()
    return _bases.get((snapshot.pk, name), lambda: Base(snapshot_objects(snapshot), taken_at, name, snapshot))


def _brought(file: ScenarioFile) -> Base:
    body = json.loads(uploads.plain(file))
    return Base(body["objects"], float(body["takenAt"]), body["cluster"])


_objects: LRU[list[dict[str, Any]]] = LRU(16)


def picture(revision: ScenarioRevision) -> Picture:
    """A drawing of the cluster at the start of ``revision``, before its changes. The caller may change it."""

    def read() -> list[dict[str, Any]]:
        kept = [*base(revision).objects, *(revision.document.get("objects") or ())]
        return [one for one in kept if one.get("kind") in ("Node", "Pod")]

    return drawn(_objects.get((revision.scenario_id, revision.number), read))


@dataclass(frozen=True)
class ListedScenario:
    """A ready scenario in the list."""

    ready: Ready
    scenario: Scenario
    picture: Picture


def ready_list() -> list[ListedScenario]:
    """The ready scenarios in the database, in order."""
    there = {row.scenario_id: row for row in newest_revisions().filter(scenario__built_in=True)}
    return [
        ListedScenario(one.told, there[one.id].scenario, picture(there[one.id]))
        for one in all_ready()
        if one.id in there
    ]


class Files(Mapping[str, bytes]):
    """The gzipped files of a scenario by name, read on demand."""

    def __init__(self, scenario: Scenario) -> None:
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


_prepared: LRU[Prepared] = LRU(3)


def prepared(revision: ScenarioRevision, seed: int) -> Prepared:
    """Prepare ``revision`` for the engine; equal for an equal seed. The result is cached and must not be changed.

    Raises ``Unprocessable`` with the path of what is impossible.
    """
    return _prepared.get(
        (revision.scenario_id, revision.number, seed),
        lambda: make_ready(revision.text, base(revision), revision.scenario, seed),
    )


def at_hand(revision: ScenarioRevision, seed: int) -> bool:
    """Whether a request may ask for ``prepared``: the cluster is small, or this process has read it already."""
    if (revision.scenario_id, revision.number, seed) in _prepared.cached():
        return True
    wanted = check(revision.text).snapshot
    if not wanted:
        return True
    brought = file_list(revision.scenario).filter(name=transfer.snapshot_file(wanted)).first()
    sizes = Snapshot.objects.filter(pk=wanted).values_list("size", flat=True) if brought is None else [brought.size]
    return all(size <= READ_AT_ONCE for size in sizes)


def preview(text: str, start: Base, scenario: Scenario) -> Prepared:
    """As :func:`make_ready`, with few enough arrivals for a preview."""
    return make_ready(text, start, scenario, seed=1, change=shortened)


def make_ready(
    text: str, start: Base, scenario: Scenario, seed: int, change: Callable[[Document], Document] = lambda it: it
) -> Prepared:
    """Prepare ``text``, which may be unsaved, on ``start`` with the files of ``scenario``.

    ``change`` replaces the document that was read.
    """
    checked = check(text, files=Files(scenario))
    if checked.document is None or checked.problems:
        raise _unprocessable("The scenario is not valid.", checked.problems)
    files, use = Files(scenario), checked.document.use
    brought = checked.figures in list(files)
    figures = None if brought or start.snapshot is None else figures_of(use, start.snapshot)
    try:
        return prepare(
            change(checked.document), start.objects, files, seed=seed, now=start.taken_at, utilisation=figures
        )
    except DocumentError as error:
        assert checked.written is not None
        found = [placed(checked.written, one.path, one.text) for one in error.problems]
        raise _unprocessable(f"The scenario cannot be run: {error}", found) from None


def figures_of(use: UseOf, snapshot: Snapshot) -> Collected | None:
    """The collected figures of the cluster of ``snapshot`` that ``use`` needs; ``None`` if it needs none."""
    taken = snapshot.taken_at.timestamp()
    if use.seconds:
        return collected(snapshot.cluster, taken - use.seconds, taken)
    found = current(snapshot.cluster, taken) if use.collected else None
    return None if found is None else Collected.of(found, taken)


def _unprocessable(detail: str, problems: list[MarkedProblem]) -> Unprocessable:
    return Unprocessable(detail, errors=[cast("FieldProblem", one.as_dict()) for one in problems])


def export(revision: ScenarioRevision) -> bytes:
    """``revision`` with everything it needs as gzipped JSON."""
    start = base(revision)
    checked = check(revision.text)
    wanted = checked.snapshot
    snapshot = {"id": wanted, "cluster": start.cluster, "takenAt": start.taken_at, "objects": start.objects}
    rows = revision.scenario.files.exclude(kind=FileKind.SNAPSHOT)
    files = [(row.name, row.kind, uploads.plain(row).decode()) for row in rows]
    if start.snapshot is not None and checked.document and checked.figures not in [name for name, _, _ in files]:
        # An old revision, from before figures were stored with the scenario.
        found = figures_of(checked.document.use, start.snapshot)
        files += [(checked.figures, FileKind.FIGURES, "\n".join(found.lines()))] if found else []
    return transfer.packed(revision.text, snapshot if wanted else None, files)
