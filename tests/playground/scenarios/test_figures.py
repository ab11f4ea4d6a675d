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
    for raw in [item for item in objects if item["kind"] == "Pod"][:4]:
        raw["metadata"]["ownerReferences"] = [owner]
    snapshot = seed.imported("busy", objects, user)
    taken_at = Snapshot.objects.get(pk=snapshot).taken_at.timestamp()
    if hours:
        seed.measured("busy", [f"node-{number:05d}" for number in range(3)], hours, taken_at)
        last = int(taken_at) // 300 * 300
        rows = [
            (at, {Figure("workload", "cpu", key): [0.1 + place / 100] for key in ("15m", "1h", "1d")})
            for place, at in enumerate(range(last - hours * 3600 + 300, last + 1, 300))
        ]
        cluster = Cluster.objects.get(name="busy")
        span = Resolution.FIVE_MINUTES
        samples_store(cluster=cluster, kind="workload", names=[WEB], rows=rows, origin="prometheus", resolution=span)
        samples_rollup(cluster=cluster, now=int(taken_at))
    return f"name: Busy\nbase:\n  snapshot: {snapshot}\nuse: {use}\nrun: {{until: 90m}}\n"


def encoded_outcome(scenario: Scenario) -> bytes:
    """Encode the outcome of the newest revision, byte for byte."""
    configuration = load(EMPTY).configuration
    assert configuration is not None
    revision = selectors.revision_get(scenario)
    prepared_scenario = selectors.make_ready(revision.text, selectors.load_base(revision), scenario, seed=1)
    run_outcome = run_scenario(prepared_scenario, configuration)
    assert len(set(run_outcome.use.cpu[:, 0].tolist())) > (2 if "history" in revision.text else 0)
    return run_outcome.encode()


def play_export(exported: bytes) -> bytes:
    """Play an export without any site, as the command line does, and encode its outcome."""
    scenario_file, configuration = read_scenario_file(exported), load(EMPTY).configuration
    assert scenario_file.now is not None
    assert configuration is not None
    return run_scenario(
        prepare_scenario(
            scenario_file.document, scenario_file.objects, scenario_file.files, seed=1, now=scenario_file.now
        ),
        configuration,
    ).encode()


@pytest.mark.parametrize("use", ["{from: watermarks}", "{from: history, window: 2h}"])
def test_an_export_replays_to_the_same_outcome_on_another_site(editor: User, use: str) -> None:
    scenario = services.scenario_create(text=on_measured(editor, use), author=editor)
    expected, exported = encoded_outcome(scenario), selectors.export_revision(selectors.revision_get(scenario))
    preview = selectors.revision_get(scenario).text
    scenario.files.all().delete()
    assert encoded_outcome(scenario) == expected  # what is collected now says the same, so that a preview is no other
    assert selectors.export_revision(selectors.revision_get(scenario)) == exported
    assert play_export(exported) == expected
    services.scenario_delete(scenario=scenario, author=editor)
    Snapshot.objects.all().delete()
    Cluster.objects.all().delete()
    assert not Sample.objects.exists()
    imported_scenario = services.scenario_import(
        imported=transfer.read_export("a.json.gz", exported, limit=4 * MIB), author=editor
    )
    assert selectors.revision_get(imported_scenario).text == preview
    assert encoded_outcome(imported_scenario) == expected
    copied_scenario = services.scenario_copy(revision=selectors.revision_get(imported_scenario), author=editor)
    assert encoded_outcome(copied_scenario) == expected


def test_a_revision_stays_as_it_was_when_samples_go(editor: User) -> None:
    scenario = services.scenario_create(text=on_measured(editor, "{from: history, window: 1h}"), author=editor)
    before = encoded_outcome(scenario)
    Sample.objects.all().delete()
    assert encoded_outcome(scenario) == before
    (row,) = scenario.files.all()
    assert (row.kind, row.about["span"][1] - row.about["span"][0]) == (FileKind.FIGURES, pytest.approx(7200, abs=300))
    with pytest.raises(Conflict, match="Revision 1 reads figures-"):
        services.file_delete(scenario=scenario, name=row.name, author=editor)
    services.scenario_rename(scenario=scenario, name="Other", author=editor, expected=1)
    assert scenario.files.count() == 1


@pytest.mark.parametrize(
    ("use", "hours", "path", "message"),
    [
        ("{from: history}", HOURS, "use.window", "before its snapshot: take a window of at most 2h5"),
        ("{from: history}", 0, "use.from", "collect watermarks of its cluster for a while"),
        ("{from: watermarks}", 0, "use.from", "no watermarks are known of this base: collect them"),
    ],
)
def test_what_was_never_collected_is_refused_when_it_is_saved(
    editor: User, use: str, hours: int, path: str, message: str
) -> None:
    text = on_measured(editor, use, hours)
    with pytest.raises(services.InvalidScenario) as caught:
        services.scenario_create(text=text, author=editor)
    (problem,) = caught.value.problems
    assert (problem.path, problem.line) == (path, 4)
    assert message in problem.message


def test_the_form_offers_a_history_and_says_what_is_wrong_beside_the_field(editor: User, client: Client) -> None:
    text = on_measured(editor, "{from: watermarks}")
    scenario = services.scenario_create(text=text, author=editor)
    client.force_login(editor)
    address = f"/scenarios/{scenario.pk}/"
    page = client.get(address)
    assert page.context["real_use"].startswith("what was measured")
    assert elements(page, "select[name=use.from] option[value=history]")
    form = {"document": text, "base_document": text, "use.from": "history", "save": "1", "expected": "1"}
    answer = client.post(address, {**form, "use.window": "6h"})
    assert answer.status_code == 422
    [problem] = answer.context["editor"].checked.problems
    assert problem.path == "use.window"
    assert "take a window of at most" in problem.message
    assert elements(answer, "#f-use-window-error")
    assert scenario.revisions.count() == 1
    assert client.post(address, {**form, "use.window": "2h"}).status_code == 302
    page = client.get(address)
    assert page.context["real_use"].startswith("what was measured in the 2h before the snapshot")
    assert page.context["real_use"] in page.content.decode()
    assert scenario.files.filter(kind=FileKind.FIGURES).count() == 2
    effect_page = client.post(reverse("scenario-effect", args=[scenario.pk]), {"document": form["document"]})
    assert effect_page.context["effect"].beginning.startswith("3 nodes")


def export_with(editor: User, change: dict[str, str]) -> bytes:
    """An export whose figures are written otherwise."""
    scenario = services.scenario_create(text=on_measured(editor, "{from: history, window: 2h}"), author=editor)
    body = json.loads(gzip.decompress(selectors.export_revision(selectors.revision_get(scenario))))
    (file,) = body["files"]
    for old, new in change.items():
        assert old in file["text"]
        file["text"] = file["text"].replace(old, new, 1)
    return gzip.compress(json.dumps(body).encode())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"node/cpu/5m,node-00000,": "node/cpu/5m,node-00000,-1"}, "a value is negative"),
        ({"node/cpu/5m,node-00000,": "node/cpu/5m,node-00000,1,"}, "values, where"),
        ({"source,": "node/cpu/never-heard-of,"}, "is no figure"),
        ({"figure,object,": "figure,object,1e300,"}, "too large"),
    ],
)
def test_figures_that_lie_are_refused(editor: User, change: dict[str, str], message: str) -> None:
    with pytest.raises(ApplicationError, match=message):
        transfer.read_export("a.json.gz", export_with(editor, change), limit=4 * MIB)


def test_figures_of_another_time_are_refused(editor: User) -> None:
    exported = export_with(editor, {})
    scenario_export = transfer.read_export("a.json.gz", exported, limit=4 * MIB)
    data = selectors.check_scenario(scenario_export.text).data
    text = rewrite_yaml(scenario_export.text, {**data, "name": "Other", "use": {"from": "history", "window": "1h"}})
    with pytest.raises(services.InvalidScenario) as caught:
        services.scenario_create(text=text, author=editor, files=scenario_export.files)
    assert "no history of use is known of this base" in caught.value.problems[0].message
    body = json.loads(gzip.decompress(exported))
    body["snapshot"]["takenAt"] += 86_400
    scenario_export = transfer.read_export("a.json.gz", gzip.compress(json.dumps(body).encode()), limit=4 * MIB)
    with pytest.raises(services.InvalidScenario) as caught:
        services.scenario_import(imported=scenario_export, author=editor)
    assert "the history of this base ends at" in caught.value.problems[0].message


def test_what_was_rolled_up_to_an_hour_is_a_history_as_well(editor: User) -> None:
    text = on_measured(editor, "{from: history, window: 4h}", hours=8)
    Sample.objects.exclude(resolution=Resolution.HOUR).delete()
    scenario = services.scenario_create(text=text, author=editor)
    watermarks = CollectedWatermarks.from_lines(selectors.uploads.read_text(scenario.files.get()).decode().splitlines())
    assert 4 <= len(watermarks.times) <= 6
    assert selectors.prepare_revision(selectors.revision_get(scenario), 1).notes == []
