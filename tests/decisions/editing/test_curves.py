"""The score curves beside the weights of load-aware plugins."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kschedweb.decisions.editing import curves
from kschedweb.decisions.load_aware.sides import list_load_aware_plugins
from kschedweb.engine.releases import load
from kschedweb.policies import selectors, services
from kschedweb.policies.editing import editor, form

if TYPE_CHECKING:
    from django.test import Client

    from kschedweb.accounts.models import User
    from kschedweb.policies.models import Revision

pytestmark = pytest.mark.django_db

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
HHE = "HheWaterLevelBalance"
SCORING = f"{HEAD}profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: {HHE}}}]}}}}}}]\n"


@pytest.fixture
def saved_revision(admin: User) -> Revision:
    policy = services.policy_create(name="water", document=SCORING, author=admin)
    return selectors.revision_get(policy)


def posted_fields(document: str, **changes: str) -> dict[str, str]:
    """Return the fields that the browser posts for ``document`` after a person changed some of them."""
    view = editor.open_editor(document)
    values = {"document": document, "base": document, "profile": "0"}
    for row in view.form.plugins:
        values |= {switch.name: "on" for switch in row.switches if switch.on}
        for item in [*(row.arguments.walk() if row.arguments else []), *([row.weight] if row.weight else [])]:
            if item.kind not in ("group", "table"):
                values[item.name] = item.value
    return values | {key.replace("__", "."): value for key, value in changes.items()}


def test_a_plugin_that_scores_has_its_curves_and_others_have_none(saved_revision: Revision) -> None:
    assert set(curves.build_panels(editor.open_editor(SCORING), saved_revision, {})) == {HHE}
    assert curves.build_panels(editor.open_editor(HEAD), saved_revision, {}) == {}
    all_plugins = yaml.safe_dump(
        {"profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": n} for n in list_load_aware_plugins()]}}}]}
    )
    panels = curves.build_panels(editor.open_editor(HEAD + all_plugins), saved_revision, {})
    assert set(panels) == set(list_load_aware_plugins())
    assert all(panel.chart is not None and not panel.error for panel in panels.values())


def test_there_is_a_line_for_each_window_and_resource_that_counts(saved_revision: Revision) -> None:
    chart = curves.build_panels(editor.open_editor(SCORING), saved_revision, {})[HHE].chart
    assert chart is not None
    lines = {trace["name"]: trace["y"] for trace in chart.figure["data"]}
    assert len(lines) == 6
    assert len({tuple(line) for line in lines.values()}) > 2


def test_a_moved_weight_redraws_the_line_of_its_window_beside_the_saved_curve(saved_revision: Revision) -> None:
    before = curves.build_panels(editor.open_editor(SCORING), saved_revision, {})[HHE].chart
    form_data = posted_fields(SCORING, args__HheWaterLevelBalance__clusterCpuMinNodeWeight="2")
    after = curves.build_panels(editor.read_posted(form_data), saved_revision, form_data)[HHE].chart
    assert before is not None
    assert after is not None
    assert after.figure["data"][0]["y"] != before.figure["data"][0]["y"]
    saved_trace = after.figure["data"][-1]
    assert saved_trace["name"].endswith(", saved")
    assert saved_trace["y"] == before.figure["data"][0]["y"]


def test_the_first_weight_of_a_group_brings_the_others_along(saved_revision: Revision) -> None:
    form_data = posted_fields(SCORING, **{"args__HheWaterLevelBalance__windowWeights__1d": "0.8"})
    configuration = yaml.safe_load(editor.read_posted(form_data).document)
    args = configuration["profiles"][0]["pluginConfig"][0]["args"]
    assert args == {"windowWeights": {"15m": 0.5, "1h": 0.3, "1d": 0.8}}


def test_a_weight_left_out_of_a_written_group_is_shown_as_the_0_that_it_counts_as(saved_revision: Revision) -> None:
    config = f"pluginConfig: [{{name: {HHE}, args: {{windowWeights: {{1d: 1}}}}}}]"
    text = f"{HEAD}profiles: [{{{config}}}]\n"
    items = {
        item.name: item
        for row in editor.open_editor(text).form.plugins
        if row.arguments
        for item in row.arguments.walk()
    }
    assert items[f"args.{HHE}.windowWeights.15m"].default == "0"
    assert items[f"args.{HHE}.resourceWeights.cpu"].default == "1"
    # Another change leaves the group as it was written.
    form_data = posted_fields(text, args__HheWaterLevelBalance__clusterCpuMinNodeWeight="1")
    configuration = yaml.safe_load(editor.read_posted(form_data).document)
    assert configuration["profiles"][0]["pluginConfig"][0]["args"]["windowWeights"] == {"1d": 1}


@pytest.mark.parametrize("plugin", sorted({*list_load_aware_plugins()} - {"Peaks", "Dynamic"}))
def test_every_load_aware_plugin_has_numbers_with_sliders_whose_ends_the_engine_takes(plugin: str) -> None:
    row = next(row for row in form.build_form({}, 0, []).plugins if row.name == plugin)
    assert row.arguments is not None
    sliders = [item for item in row.arguments.walk() if item.slider]
    assert sliders
    plugins = {"multiPoint": {"enabled": [{"name": plugin}]}}
    base = HEAD + yaml.safe_dump({"profiles": [{"plugins": plugins}]})
    for item in sliders:
        assert item.slider is not None
        for end in (item.slider.low, item.slider.high):
            document = editor.read_posted(posted_fields(base, **{item.name: end})).document
            assert load(document).errors == [], (item.name, end)


def test_the_fragment_is_drawn_anew_while_a_slider_moves(
    saved_revision: Revision, client_as: Callable[[str], Client]
) -> None:
    form_data = posted_fields(SCORING, **{"args__HheWaterLevelBalance__windowWeights__1d": "1", "curve-pod": "10"})
    address = f"/policies/water/edit/curves/?plugin={HHE}"
    response = client_as("viewer").post(address, form_data)
    page = unescape(response.content.decode())
    assert response.status_code == 200
    assert 'data-figure="figure-HheWaterLevelBalance"' in page
    assert "Show as a table" in page
    invalid_data: dict[str, Any] = form_data | {"curve-average": "99"}
    assert "the average must be from 5 to 95" in client_as("viewer").post(address, invalid_data).content.decode()
    assert "Shown once" in client_as("viewer").post("/policies/water/edit/curves/?plugin=x", form_data).content.decode()
