"""Scenarios whose nodes are as busy as a cluster's were: what was collected about it is kept with them."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest
from django.urls import reverse

from kschedweb.clusters.models import Cluster, Snapshot
from kschedweb.engine.config import EMPTY
from kschedweb.engine.releases import load
from kschedweb.engine.state.watermarks.collected_watermarks import CollectedWatermarks
from kschedweb.engine.studies import prepare_scenario
from kschedweb.engine.studies.document.scenario_files import read_scenario_file
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.playground.scenarios import selectors, services, transfer
from kschedweb.playground.scenarios.models import FileKind
from kschedweb.policies.editing.yaml_edits import rewrite_yaml
from kschedweb.watermarks.figures import Figure
from kschedweb.watermarks.models import Resolution, Sample
from kschedweb.watermarks.storage import samples_rollup, samples_store
from kschedweb.web.errors import ApplicationError, Conflict
from tests.support import seed
from tests.support.html import elements
from tests.support.scenarios import MIB

if TYPE_CHECKING:
    from django.test import Client

    from kschedweb.accounts.models import User
    from kschedweb.playground.scenarios.models import Scenario

WEB = "default/StatefulSet/web"
HOURS = 3
pytestmark = pytest.mark.django_db


def on_measured(user: User, use: str, hours: int = HOURS) -> str:
    """The text of a scenario on three nodes of which ``hours`` are known, and four pods of a workload."""
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "web", "controller": True}
    objects = seed.cluster(3, 10)
    for raw in [one for one in objects if one["kind"] == "Pod"][:4]:
        raw["metadata"]["ownerReferences"] = [owner]
    snapshot = seed.imported("busy", objects, user)
    taken = Snapshot.objects.get(pk=snapshot).taken_at.timestamp()
    if hours:
        seed.measured("busy", [f"node-{number:05d}" for number in range(3)], hours, taken)
        last = int(taken) // 300 * 300
        rows = [
            (at, {Figure("workload", "cpu", key): [0.1 + place / 100] for key in ("15m", "1h", "1d")})
            for place, at in enumerate(range(last - hours * 3600 + 300, last + 1, 300))
        ]
        cluster = Cluster.objects.get(name="busy")
        span = Resolution.FIVE_MINUTES
        samples_store(cluster=cluster, kind="workload", names=[WEB], rows=rows, origin="prometheus", resolution=span)
        samples_rollup(cluster=cluster, now=int(taken))
    return f"name: Busy\nbase:\n  snapshot: {snapshot}\nuse: {use}\nrun: {{until: 90m}}\n"


def outcome(scenario: Scenario) -> bytes:
    """What comes of the newest revision, byte for byte."""
    configuration = load(EMPTY).configuration
    assert configuration is not None
    revision = selectors.revision_get(scenario)
    prepared = selectors.make_ready(revision.text, selectors.load_base(revision), scenario, seed=1)
    found = run_scenario(prepared, configuration)
    assert len(set(found.use.cpu[:, 0].tolist())) > (2 if "history" in revision.text else 0)
    return found.encode()


def alone(packed: bytes) -> bytes:
    """What comes of an export without any site, as the command line plays it."""
    given, configuration = read_scenario_file(packed), load(EMPTY).configuration
    assert given.now is not None
    assert configuration is not None
    return run_scenario(
        prepare_scenario(given.document, given.objects, given.files, seed=1, now=given.now), configuration
    ).encode()


@pytest.mark.parametrize("use", ["{from: watermarks}", "{from: history, window: 2h}"])
def test_an_export_replays_to_the_same_outcome_on_another_site(editor: User, use: str) -> None:
    made = services.scenario_create(text=on_measured(editor, use), author=editor)
    here, packed = outcome(made), selectors.export_revision(selectors.revision_get(made))
    preview = selectors.revision_get(made).text
    made.files.all().delete()
    assert outcome(made) == here  # what is collected now says the same, so that a preview is no other
    assert selectors.export_revision(selectors.revision_get(made)) == packed
    assert alone(packed) == here
    services.scenario_delete(scenario=made, author=editor)
    Snapshot.objects.all().delete()
    Cluster.objects.all().delete()
    assert not Sample.objects.exists()
    again = services.scenario_import(imported=transfer.read_export("a.json.gz", packed, limit=4 * MIB), author=editor)
    assert selectors.revision_get(again).text == preview
    assert outcome(again) == here
    copied = services.scenario_copy(revision=selectors.revision_get(again), author=editor)
    assert outcome(copied) == here


def test_a_revision_stays_as_it_was_when_samples_go(editor: User) -> None:
    made = services.scenario_create(text=on_measured(editor, "{from: history, window: 1h}"), author=editor)
    before = outcome(made)
    Sample.objects.all().delete()
    assert outcome(made) == before
    (row,) = made.files.all()
    assert (row.kind, row.about["span"][1] - row.about["span"][0]) == (FileKind.FIGURES, pytest.approx(7200, abs=300))
    with pytest.raises(Conflict, match="Revision 1 reads figures-"):
        services.file_delete(scenario=made, name=row.name, author=editor)
    services.scenario_rename(scenario=made, name="Other", author=editor, expected=1)
    assert made.files.count() == 1


@pytest.mark.parametrize(
    ("use", "hours", "path", "said"),
    [
        ("{from: history}", HOURS, "use.window", "before its snapshot: take a window of at most 2h5"),
        ("{from: history}", 0, "use.from", "collect watermarks of its cluster for a while"),
        ("{from: watermarks}", 0, "use.from", "no watermarks are known of this base: collect them"),
    ],
)
def test_what_was_never_collected_is_refused_when_it_is_saved(
    editor: User, use: str, hours: int, path: str, said: str
) -> None:
    text = on_measured(editor, use, hours)
    with pytest.raises(services.InvalidScenario) as caught:
        services.scenario_create(text=text, author=editor)
    (problem,) = caught.value.problems
    assert (problem.path, problem.line) == (path, 4)
    assert said in problem.message


def test_the_form_offers_a_history_and_says_what_is_wrong_beside_the_field(editor: User, client: Client) -> None:
    text = on_measured(editor, "{from: watermarks}")
    made = services.scenario_create(text=text, author=editor)
    client.force_login(editor)
    address = f"/scenarios/{made.pk}/"
    page = client.get(address)
    assert page.context["real_use"].startswith("what was measured")
    assert elements(page, "select[name=use.from] option[value=history]")
    posted = {"document": text, "base_document": text, "use.from": "history", "save": "1", "expected": "1"}
    answer = client.post(address, {**posted, "use.window": "6h"})
    assert answer.status_code == 422
    [problem] = answer.context["editor"].checked.problems
    assert problem.path == "use.window"
    assert "take a window of at most" in problem.message
    assert elements(answer, "#f-use-window-error")
    assert made.revisions.count() == 1
    assert client.post(address, {**posted, "use.window": "2h"}).status_code == 302
    page = client.get(address)
    assert page.context["real_use"].startswith("what was measured in the 2h before the snapshot")
    assert page.context["real_use"] in page.content.decode()
    assert made.files.filter(kind=FileKind.FIGURES).count() == 2
    shown = client.post(reverse("scenario-effect", args=[made.pk]), {"document": posted["document"]})
    assert shown.context["effect"].beginning.startswith("3 nodes")


def export_with(editor: User, change: dict[str, str]) -> bytes:
    """An export whose figures are written otherwise."""
    made = services.scenario_create(text=on_measured(editor, "{from: history, window: 2h}"), author=editor)
    body = json.loads(gzip.decompress(selectors.export_revision(selectors.revision_get(made))))
    (file,) = body["files"]
    for old, new in change.items():
        assert old in file["text"]
        file["text"] = file["text"].replace(old, new, 1)
    return gzip.compress(json.dumps(body).encode())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"node/cpu/5m,node-00000,": "node/cpu/5m,node-00000,-1"}, "a value is negative"),
        ({"node/cpu/5m,node-00000,": "node/cpu/5m,node-00000,1,"}, "values, where"),
        ({"source,": "node/cpu/never-heard-of,"}, "is no figure"),
        ({"figure,object,": "figure,object,1e300,"}, "too large"),
    ],
)
def test_figures_that_lie_are_refused(editor: User, change: dict[str, str], said: str) -> None:
    with pytest.raises(ApplicationError, match=said):
        transfer.read_export("a.json.gz", export_with(editor, change), limit=4 * MIB)


def test_figures_of_another_time_are_refused(editor: User) -> None:
    packed = export_with(editor, {})
    imported = transfer.read_export("a.json.gz", packed, limit=4 * MIB)
    data = selectors.check_scenario(imported.text).data
    text = rewrite_yaml(imported.text, {**data, "name": "Other", "use": {"from": "history", "window": "1h"}})
    with pytest.raises(services.InvalidScenario) as caught:
        services.scenario_create(text=text, author=editor, files=imported.files)
    assert "no history of use is known of this base" in caught.value.problems[0].message
    body = json.loads(gzip.decompress(packed))
    body["snapshot"]["takenAt"] += 86_400
    imported = transfer.read_export("a.json.gz", gzip.compress(json.dumps(body).encode()), limit=4 * MIB)
    with pytest.raises(services.InvalidScenario) as caught:
        services.scenario_import(imported=imported, author=editor)
    assert "the history of this base ends at" in caught.value.problems[0].message


def test_what_was_rolled_up_to_an_hour_is_a_history_as_well(editor: User) -> None:
    text = on_measured(editor, "{from: history, window: 4h}", hours=8)
    Sample.objects.exclude(resolution=Resolution.HOUR).delete()
    made = services.scenario_create(text=text, author=editor)
    found = CollectedWatermarks.from_lines(selectors.uploads.read_text(made.files.get()).decode().splitlines())
    assert 4 <= len(found.times) <= 6
    assert selectors.prepare_revision(selectors.revision_get(made), 1).notes == []
