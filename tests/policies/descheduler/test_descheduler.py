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
    ("old", "new", "line", "said"),
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
    old: str, new: str, line: int, said: str
) -> None:
    [problem] = check_either(POLICY.replace(old, new)).errors
    assert (said in problem.message, problem.line) == (True, line), problem


def test_a_priority_class_is_looked_up_in_a_cluster_not_here() -> None:
    assert check_either(POLICY.replace("nodeFit: true", "priorityThreshold: {name: own}")).valid


def test_a_policy_that_evicts_nothing_is_warned_of() -> None:
    [warning] = check_either(POLICY.replace("enabled: [HighNodeUtilization]", "disabled: []")).warnings
    assert (warning.line, "no pod is ever evicted" in warning.message) == (4, True)


def posted(shown: editor.DeschedulerEditor, **changes: str) -> dict[str, str]:
    every = [inner for one in shown.fields for inner in one.walk()]
    sent = {one.name: one.value for one in every if one.kind not in ("group", "table")} | changes
    return {"document": shown.document, "base": shown.base, **sent}


def test_the_form_edits_limits_and_leaves_the_rest_of_the_text() -> None:
    shown = editor.open_editor(POLICY)
    assert editor.read_posted(posted(shown)).document == POLICY
    edited = editor.read_posted(posted(shown, maxNoOfPodsToEvictTotal="60", maxNoOfPodsToEvictPerNode="5"))
    assert "maxNoOfPodsToEvictTotal: 60 # a cycle" in edited.document
    assert edited.runs is not None
    assert (edited.runs.limits.total, edited.runs.limits.node) == (60, 5)
    wrong = editor.read_posted(posted(shown, maxNoOfPodsToEvictTotal="many"))
    assert [one.path for one in wrong.problems] == ["maxNoOfPodsToEvictTotal"]
    assert editor.read_posted({"document": "a: [", "base": POLICY}).problems


def test_a_plugin_is_switched_on_with_its_arguments_and_another_one_off() -> None:
    shown = editor.open_editor(POLICY)
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
    edited = editor.read_posted(posted(shown, **changes))
    assert not edited.problems
    assert [(one.profile, one.plugin) for one in edited.running] == [
        ("young", "DefaultEvictor"),
        ("young", "PodLifeTime"),
    ]
    assert edited.runs is not None
    [profile] = edited.runs.profiles or []
    assert profile.args["PodLifeTime"]["maxPodLifeTimeSeconds"] == 86400
    assert profile.args["PodLifeTime"]["states"] == ["Running", "Pending"]
    assert profile.args["DefaultEvictor"]["labelSelector"]["matchLabels"] == {"app": "web"}
    assert profile.args["DefaultEvictor"]["podProtections"]["extraEnabled"] == ["PodsWithPVC"]
    assert profile.args["HighNodeUtilization"]["thresholds"] == {"cpu": 30}, "the arguments of what is off are kept"


def test_a_plugin_without_arguments_runs_once_it_is_switched_on() -> None:
    shown = editor.open_editor(POLICY)
    edited = editor.read_posted(posted(shown, **{"profile.0.RemoveDuplicates.runs": "true"}))
    assert not edited.problems
    assert [one.plugin for one in edited.running][1:] == ["HighNodeUtilization", "RemoveDuplicates"]


@pytest.mark.parametrize(
    ("name", "value", "at", "said"),
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
    name: str, value: str, at: str, said: str
) -> None:
    shown = editor.open_editor(POLICY)
    edited = editor.read_posted(posted(shown, **{f"profile.0.{name}": value}))
    told = {one.name: one.problems[0].message for top in edited.fields for one in top.walk() if one.problems}
    assert list(told) == [f"profile.0.{at}"]
    assert said in told[f"profile.0.{at}"]


def test_fields_are_kept_while_the_yaml_cannot_be_read_and_yaml_wins_where_no_field_changed() -> None:
    shown = editor.open_editor(POLICY)
    cpu = f"profile.0.{CPU}"
    broken = editor.read_posted(posted(shown, **{cpu: "44"}) | {"document": "a: ["})
    assert broken.problems
    assert {one.name: one.value for top in broken.fields for one in top.walk()}[cpu] == "44"
    both = editor.read_posted(posted(shown, **{cpu: "44"}) | {"document": POLICY.replace("50 # a", "51 # a")})
    assert both.runs is not None
    assert both.runs.limits.total == 51
    assert dict(both.running[1].arguments)["thresholds.cpu"] == "44"


def test_profiles_are_added_and_removed_with_what_else_was_changed() -> None:
    shown = editor.open_editor(POLICY)
    two = editor.read_posted(posted(shown, maxNoOfPodsToEvictTotal="60", add_item="1"))
    assert not two.problems
    assert two.runs is not None
    assert two.runs.limits.total == 60
    assert [one.name for one in two.runs.profiles or []] == ["spare", "profile-1"]
    three = editor.read_posted(posted(two, add_item="1", **{"profile.1.PodLifeTime.runs": "true"}))
    assert [one["name"] for one in parse_document(three.document).data["profiles"]] == [
        "spare",
        "profile-1",
        "profile-2",
    ]
    assert "profile.2.PodLifeTime.runs" in {one.name for top in three.fields for one in top.walk()}
    one = editor.read_posted(posted(editor.read_posted(posted(two, remove_item="0")), remove_item="0"))
    assert [one["name"] for one in parse_document(one.document).data["profiles"]] == ["profile-1"], "the last one stays"
    assert editor.read_posted(posted(two, remove_item="1")).document == POLICY.replace(": 50 #", ": 60 #")
    assert editor.read_posted(posted(two, remove_item="2")).document == two.document


def test_a_button_waits_until_the_yaml_can_be_read() -> None:
    broken = editor.read_posted(posted(editor.open_editor(POLICY), add_item="1") | {"document": "a: ["})
    assert broken.document == "a: ["
    assert [top.name for top in broken.fields if top.kind == "group"] == ["profile.0"]


def test_every_argument_of_every_plugin_is_a_field() -> None:
    names = {one.name for top in editor.open_editor(POLICY).fields for one in top.walk()}
    for plugin, spec in PLUGINS.items():
        for one in spec.args.fields:
            assert (f"profile.0.{plugin}.args.{one.name}" in names) == (one.name not in ("kind", "apiVersion"))


def test_what_runs_is_told_with_its_arguments() -> None:
    running = editor.open_editor(POLICY).running
    assert [(one.plugin, one.point) for one in running] == [("DefaultEvictor", ""), ("HighNodeUtilization", "balance")]
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
        sent = posted(editor.open_editor(POLICY), add_item="1")
        added = fields(client.post("/policies/spare/", sent).content.decode(), "policy-form")
        assert len(parse_document(added["document"]).data["profiles"]) == 2
        assert b'name="remove_item" value="1"' in client.post("/policies/spare/edit/preview/", sent).content
        assert "HighNodeUtilization" in page.content.decode()
        assert client.get("/policies/spare/effective/").status_code == 200

    def test_a_revision_is_compared_with_the_one_before(self, spare: Policy, editor: User) -> None:
        changed = POLICY.replace("cpu: 30", "cpu: 40")
        services.revision_save(policy=spare, document=changed, author=editor, expected=1)
        [change] = DESCHEDULER.changes(check_descheduler(POLICY), check_descheduler(changed))
        assert (change.what, change.before, change.after) == (
            "profiles.spare.HighNodeUtilization.thresholds.cpu",
            "30",
            "40",
        )

    def test_rest_takes_and_refuses_it(self, api_as: Callable[[str], APIClient]) -> None:
        api = api_as("editor")
        made = api.post("/api/v1/policies/", {"name": "spare", "document": POLICY}, format="json")
        assert (made.status_code, made.data["kind"]) == (201, "descheduler")
        wrong = POLICY.replace("v1alpha2", "v1alpha1")
        refused = api.post("/api/v1/policies/", {"name": "old", "document": wrong}, format="json")
        assert refused.status_code == 422
        assert refused.data["detail"].startswith("The descheduler would not start with this document.")
        assert DESCHEDULER.schema({})["title"] == "DeschedulerPolicy"
