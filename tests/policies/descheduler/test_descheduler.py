"""DeschedulerPolicy documents as policies: read, edited, compared, kept apart from policies that place pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from kschedweb.decisions.selectors import policy_choices
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.engine.rebalancing.plugins import PLUGINS
from kschedweb.policies import services
from kschedweb.policies.descheduler import editor
from kschedweb.policies.descheduler.validation import check_descheduler
from kschedweb.policies.dialects import DESCHEDULER, check_either
from kschedweb.policies.models import Policy
from kschedweb.policies.selectors import descheduling_only, policy_get, revision_get
from kschedweb.web.errors import Unprocessable
from tests.support.formfields import fields

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

    from kschedweb.accounts.models import User

POLICY = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
maxNoOfPodsToEvictTotal: 50 # a cycle
profiles:
  - name: spare
    pluginConfig:
      - name: DefaultEvictor
        args:
          nodeFit: true
      - name: HighNodeUtilization
        args:
          thresholds:
            cpu: 30
    plugins:
      balance:
        enabled: [HighNodeUtilization]
"""


CPU = "HighNodeUtilization.args.thresholds.cpu"


def test_it_is_known_by_its_kind_and_read_without_an_error() -> None:
    checked = check_either(POLICY)
    assert (checked.kind, checked.valid, checked.errors, checked.warnings) == ("descheduler", True, [], [])
    assert check_either(DESCHEDULER.defaults).valid


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("v1alpha2", "v1alpha1", 1, "descheduler/v1alpha1 is not read. Write descheduler/v1alpha2"),
        ("nodeFit", "nodeFitting", 9, 'unknown field "nodeFitting"'),
        ("nodeFit: true", "nodeFit: please", 9, "cannot unmarshal string into Go struct field"),
        ("cpu: 30", "cpu: 130", 11, "in profile spare: cpu threshold not in [0, 100] range"),
        ("- name: HighNodeUtilization", "- name: HighNode", 10, "plugin HighNode in pluginConfig not registered"),
        ("[HighNodeUtilization]", "[DefaultEvictor]", 16, "extension point of non-existing plugins"),
        ("kind: DeschedulerPolicy", "kind: Deschedule", 2, 'no kind "Deschedule" is registered'),
        ("maxNoOfPodsToEvictTotal: 50", "maxNoOfPodsToEvictTotal: -1", 3, "cannot unmarshal number -1"),
        ("maxNoOfPodsToEvictTotal: 50", 'nodeSelector: "a in"', 3, "unable to parse requirement"),
        ("nodeFit: true", "priorityThreshold: {value: 2000000001}", 9, "priority threshold can't be greater than"),
    ],
)
def test_what_the_descheduler_refuses_is_told_in_its_words_at_its_line(
    old: str, new: str, line: int, message: str
) -> None:
    [problem] = check_either(POLICY.replace(old, new)).errors
    assert (message in problem.message, problem.line) == (True, line), problem


def test_a_priority_class_is_looked_up_in_a_cluster_not_here() -> None:
    assert check_either(POLICY.replace("nodeFit: true", "priorityThreshold: {name: own}")).valid


def test_a_policy_that_evicts_nothing_is_warned_of() -> None:
    [warning] = check_either(POLICY.replace("enabled: [HighNodeUtilization]", "disabled: []")).warnings
    assert (warning.line, "no pod is ever evicted" in warning.message) == (4, True)


def form_data(view: editor.DeschedulerEditor, **changes: str) -> dict[str, str]:
    fields = [inner for field in view.fields for inner in field.walk()]
    values = {field.name: field.value for field in fields if field.kind not in ("group", "table")} | changes
    return {"document": view.document, "base": view.base, **values}


def test_the_form_edits_limits_and_leaves_the_rest_of_the_text() -> None:
    view = editor.open_editor(POLICY)
    assert editor.read_posted(form_data(view)).document == POLICY
    edited_view = editor.read_posted(form_data(view, maxNoOfPodsToEvictTotal="60", maxNoOfPodsToEvictPerNode="5"))
    assert "maxNoOfPodsToEvictTotal: 60 # a cycle" in edited_view.document
    assert edited_view.runs is not None
    assert (edited_view.runs.limits.total, edited_view.runs.limits.node) == (60, 5)
    invalid_view = editor.read_posted(form_data(view, maxNoOfPodsToEvictTotal="many"))
    assert [problem.path for problem in invalid_view.problems] == ["maxNoOfPodsToEvictTotal"]
    assert editor.read_posted({"document": "a: [", "base": POLICY}).problems


def test_a_plugin_is_switched_on_with_its_arguments_and_another_one_off() -> None:
    view = editor.open_editor(POLICY)
    changes = {
        "profile.0.PodLifeTime.runs": "true",
        "profile.0.PodLifeTime.args.maxPodLifeTimeSeconds": "86400",
        "profile.0.PodLifeTime.args.states": "Running\nPending",
        "profile.0.HighNodeUtilization.runs": "",
        "profile.0.DefaultEvictor.args.nodeFit": "false",
        "profile.0.DefaultEvictor.args.labelSelector": "matchLabels: {app: web}",
        "profile.0.DefaultEvictor.args.podProtections.extraEnabled": "PodsWithPVC",
        "profile.0.name": "young",
    }
    edited_view = editor.read_posted(form_data(view, **changes))
    assert not edited_view.problems
    assert [(run.profile, run.plugin) for run in edited_view.running] == [
        ("young", "DefaultEvictor"),
        ("young", "PodLifeTime"),
    ]
    assert edited_view.runs is not None
    [profile] = edited_view.runs.profiles or []
    assert profile.args["PodLifeTime"]["maxPodLifeTimeSeconds"] == 86400
    assert profile.args["PodLifeTime"]["states"] == ["Running", "Pending"]
    assert profile.args["DefaultEvictor"]["labelSelector"]["matchLabels"] == {"app": "web"}
    assert profile.args["DefaultEvictor"]["podProtections"]["extraEnabled"] == ["PodsWithPVC"]
    assert profile.args["HighNodeUtilization"]["thresholds"] == {"cpu": 30}, "the arguments of what is off are kept"


def test_a_plugin_without_arguments_runs_once_it_is_switched_on() -> None:
    view = editor.open_editor(POLICY)
    edited_view = editor.read_posted(form_data(view, **{"profile.0.RemoveDuplicates.runs": "true"}))
    assert not edited_view.problems
    assert [run.plugin for run in edited_view.running][1:] == ["HighNodeUtilization", "RemoveDuplicates"]


@pytest.mark.parametrize(
    ("name", "value", "at", "message"),
    [
        (
            "HighNodeUtilization.args.thresholds.cpu",
            "130",
            "HighNodeUtilization",
            "cpu threshold not in [0, 100] range",
        ),
        (
            "HighNodeUtilization.args.thresholds.cpu",
            "much",
            "HighNodeUtilization.args.thresholds.cpu",
            "cannot unmarshal",
        ),
        ("DefaultEvictor.args.minReplicas", "-1", "DefaultEvictor.args.minReplicas", "cannot unmarshal number -1"),
        ("DefaultEvictor.args.noEvictionPolicy", "Never", "DefaultEvictor", "noEvictionPolicy accepts only"),
    ],
)
def test_an_error_stands_beside_its_field_in_the_words_of_the_descheduler(
    name: str, value: str, at: str, message: str
) -> None:
    view = editor.open_editor(POLICY)
    edited_view = editor.read_posted(form_data(view, **{f"profile.0.{name}": value}))
    messages = {
        field.name: field.problems[0].message for top in edited_view.fields for field in top.walk() if field.problems
    }
    assert list(messages) == [f"profile.0.{at}"]
    assert message in messages[f"profile.0.{at}"]


def test_fields_are_kept_while_the_yaml_cannot_be_read_and_yaml_wins_where_no_field_changed() -> None:
    view = editor.open_editor(POLICY)
    cpu = f"profile.0.{CPU}"
    unreadable_view = editor.read_posted(form_data(view, **{cpu: "44"}) | {"document": "a: ["})
    assert unreadable_view.problems
    assert {field.name: field.value for top in unreadable_view.fields for field in top.walk()}[cpu] == "44"
    merged_view = editor.read_posted(form_data(view, **{cpu: "44"}) | {"document": POLICY.replace("50 # a", "51 # a")})
    assert merged_view.runs is not None
    assert merged_view.runs.limits.total == 51
    assert dict(merged_view.running[1].arguments)["thresholds.cpu"] == "44"


def test_profiles_are_added_and_removed_with_what_else_was_changed() -> None:
    view = editor.open_editor(POLICY)
    two = editor.read_posted(form_data(view, maxNoOfPodsToEvictTotal="60", add_item="1"))
    assert not two.problems
    assert two.runs is not None
    assert two.runs.limits.total == 60
    assert [profile.name for profile in two.runs.profiles or []] == ["spare", "profile-1"]
    three = editor.read_posted(form_data(two, add_item="1", **{"profile.1.PodLifeTime.runs": "true"}))
    assert [profile["name"] for profile in parse_document(three.document).data["profiles"]] == [
        "spare",
        "profile-1",
        "profile-2",
    ]
    assert "profile.2.PodLifeTime.runs" in {last_view.name for top in three.fields for last_view in top.walk()}
    last_view = editor.read_posted(form_data(editor.read_posted(form_data(two, remove_item="0")), remove_item="0"))
    assert [profile["name"] for profile in parse_document(last_view.document).data["profiles"]] == ["profile-1"], (
        "the last one stays"
    )
    assert editor.read_posted(form_data(two, remove_item="1")).document == POLICY.replace(": 50 #", ": 60 #")
    assert editor.read_posted(form_data(two, remove_item="2")).document == two.document


def test_a_button_waits_until_the_yaml_can_be_read() -> None:
    unreadable_view = editor.read_posted(form_data(editor.open_editor(POLICY), add_item="1") | {"document": "a: ["})
    assert unreadable_view.document == "a: ["
    assert [top.name for top in unreadable_view.fields if top.kind == "group"] == ["profile.0"]


def test_every_argument_of_every_plugin_is_a_field() -> None:
    names = {field.name for top in editor.open_editor(POLICY).fields for field in top.walk()}
    for plugin, spec in PLUGINS.items():
        for field in spec.args.fields:
            assert (f"profile.0.{plugin}.args.{field.name}" in names) == (field.name not in ("kind", "apiVersion"))


def test_what_runs_is_told_with_its_arguments() -> None:
    running = editor.open_editor(POLICY).running
    assert [(plugin_run.plugin, plugin_run.point) for plugin_run in running] == [
        ("DefaultEvictor", ""),
        ("HighNodeUtilization", "balance"),
    ]
    assert ("thresholds.cpu", "30") in running[1].arguments


@pytest.fixture
def spare(editor: User) -> Policy:
    services.policy_create(name="spare", document=POLICY, author=editor)
    return policy_get("spare")


@pytest.mark.django_db
class TestAsAPolicy:
    def test_it_places_no_pod(self, spare: Policy) -> None:
        assert "spare@1" not in dict(policy_choices())
        assert descheduling_only(revision_get(spare)).number == 1
        with pytest.raises(Unprocessable, match="default holds a KubeSchedulerConfiguration"):
            descheduling_only(revision_get(policy_get("default")))

    def test_its_pages(self, spare: Policy, client_as: Callable[[str], Client]) -> None:
        client = client_as("editor")
        page = client.get("/policies/spare/")
        assert page.status_code == 200
        assert 'name="remove_item"' not in page.content.decode(), "the only one"
        values = form_data(editor.open_editor(POLICY), add_item="1")
        fields_after = fields(client.post("/policies/spare/", values).content.decode(), "policy-form")
        assert len(parse_document(fields_after["document"]).data["profiles"]) == 2
        assert b'name="remove_item" value="1"' in client.post("/policies/spare/edit/preview/", values).content
        assert "HighNodeUtilization" in page.content.decode()
        assert client.get("/policies/spare/effective/").status_code == 200

    def test_a_revision_is_compared_with_the_one_before(self, spare: Policy, editor: User) -> None:
        changed_text = POLICY.replace("cpu: 30", "cpu: 40")
        services.revision_save(policy=spare, document=changed_text, author=editor, expected=1)
        [change] = DESCHEDULER.changes(check_descheduler(POLICY), check_descheduler(changed_text))
        assert (change.subject, change.before, change.after) == (
            "profiles.spare.HighNodeUtilization.thresholds.cpu",
            "30",
            "40",
        )

    def test_rest_takes_and_refuses_it(self, api_as: Callable[[str], APIClient]) -> None:
        api = api_as("editor")
        response = api.post("/api/v1/policies/", {"name": "spare", "document": POLICY}, format="json")
        assert (response.status_code, response.data["kind"]) == (201, "descheduler")
        wrong = POLICY.replace("v1alpha2", "v1alpha1")
        rejection = api.post("/api/v1/policies/", {"name": "old", "document": wrong}, format="json")
        assert rejection.status_code == 422
        assert rejection.data["detail"].startswith("The descheduler would not start with this document.")
        assert DESCHEDULER.schema({})["title"] == "DeschedulerPolicy"
