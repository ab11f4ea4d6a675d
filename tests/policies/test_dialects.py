"""A policy is of profiles or classic, by its first document, and stays so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from kschedweb.policies import selectors, services
from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.dialects import check_either, dialect_of
from kschedweb.policies.models import Policy, Revision
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client
    from rest_framework.test import APIClient

    from kschedweb.accounts.models import User

CLASSIC = """\
{
  "kind": "Policy",
  "apiVersion": "v1",
  "predicates": [{"name": "PodFitsResources"}],
  "priorities": [{"name": "LeastRequestedPriority", "weight": 3}]
}
"""


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"kind": "Policy"}, PolicyKind.CLASSIC),
        ({"priorities": []}, PolicyKind.CLASSIC),
        ({"predicate": []}, PolicyKind.CLASSIC),
        ({"kind": "KubeSchedulerConfiguration", "priorities": []}, PolicyKind.PROFILES),
        ({"profiles": []}, PolicyKind.PROFILES),
        ([], PolicyKind.PROFILES),
        (None, PolicyKind.PROFILES),
    ],
)
def test_the_kind_is_told_by_the_document(data: object, kind: PolicyKind) -> None:
    assert dialect_of(data).kind == kind


DOCUMENTS = {
    PolicyKind.PROFILES: "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
    PolicyKind.CLASSIC: CLASSIC,
    PolicyKind.CRANE: (
        "apiVersion: scheduler.policy.crane.io/v1alpha1\nkind: DynamicSchedulerPolicy\n"
        "spec:\n  syncPolicy:\n  - name: cpu_usage_avg_5m\n    period: 3m\n"
    ),
    PolicyKind.DESCHEDULER: "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n",
}


def config_map(**data: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config"}, "data": data})


@pytest.mark.django_db
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_config_map_is_unpacked(kind: PolicyKind, editor: User) -> None:
    document = DOCUMENTS[kind]
    text = config_map(policy=document, other="level: 5\n")
    verdict = check_either(text)
    assert (verdict.kind, verdict.errors) == (kind, [])
    manifests = f"apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: a}}\n---\n{text}"
    services.policy_create(name="packed", document=manifests, author=editor)
    policy = selectors.policy_get("packed")
    assert (policy.kind, selectors.revision_get(policy).document) == (kind, document)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (
            {"a": "x: 1", "b": "y"},
            "This ConfigMap has the keys a, b, and none holds a policy: paste the policy itself.",
        ),
        (
            {"a": DOCUMENTS[PolicyKind.PROFILES], "b": DOCUMENTS[PolicyKind.CRANE]},
            "This ConfigMap holds a policy under each of a, b: paste one of them.",
        ),
        ({}, "This is a ConfigMap without data: paste the policy itself."),
    ],
)
def test_a_config_map_without_one_policy_names_its_keys(data: dict[str, str], sentence: str, editor: User) -> None:
    text = config_map(**data)
    assert [problem.message for problem in check_either(text).errors] == [sentence]
    with pytest.raises(Unprocessable) as caught:
        services.policy_create(name="packed", document=text, author=editor)
    assert [problem["message"] for problem in caught.value.errors] == [sentence]


NODE_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
"""
NODE_CLASS = (
    "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: default}\nspec: {amiFamily: AL2023}\n"
)
PASSED_OVER = "# EC2NodeClass default is passed over: instanceTypes says what can be launched.\n"


@pytest.mark.django_db
def test_manifests_of_karpenter_become_one_document_without_node_classes(editor: User) -> None:
    services.policy_create(name="nodes", document=f"{NODE_CLASS}---\n{NODE_POOL}---\n", author=editor)
    stored_document = selectors.revision_get(selectors.policy_get("nodes")).document
    assert stored_document.startswith(PASSED_OVER)
    checked = check_either(stored_document)
    assert (checked.kind, checked.errors) == (PolicyKind.KARPENTER, [])
    wrapped_document = "# mine\napiVersion: kschedweb/v1\nkind: Karpenter\nnodePools:\n" + "".join(
        f"  {'- ' if number == 0 else '  '}{line}\n" for number, line in enumerate(NODE_POOL.splitlines())
    )
    services.policy_create(name="own", document=f"{wrapped_document}---\n{NODE_CLASS}", author=editor)
    assert selectors.revision_get(selectors.policy_get("own")).document == PASSED_OVER + wrapped_document


@pytest.fixture
def old(editor: User) -> Policy:
    services.policy_create(name="old", document=CLASSIC, author=editor, process={"version": "1.9", "gates": []})
    return selectors.policy_get("old")


@pytest.mark.django_db
class TestClassicPolicy:
    def test_is_made_of_its_document_and_keeps_how_it_was_started(self, old: Policy) -> None:
        revision = selectors.revision_get(old)
        assert (old.kind, revision.document, revision.process) == (PolicyKind.CLASSIC, CLASSIC, {"version": "1.9"})

    def test_runs_what_it_says(self, old: Policy) -> None:
        algorithm = selectors.load_algorithm(selectors.revision_get(old))
        assert algorithm.edition.old
        assert algorithm.weights == {"LeastRequestedPriority": 3}

    def test_weights_of_one_policy_do_not_hold_for_another(self, editor: User) -> None:
        empty = services.policy_create(name="b", document="kind: Policy\napiVersion: v1\n", author=editor)
        heavy = CLASSIC.replace('"weight": 3', '"weight": 5')
        selectors.load_algorithm(services.policy_create(name="a", document=heavy, author=editor).revisions.get())
        assert selectors.load_algorithm(empty.revisions.get()).weights["LeastRequestedPriority"] == 1

    def test_is_told_apart_where_profiles_are_needed(self, old: Policy) -> None:
        with pytest.raises(Unprocessable, match=r"old is a classic policy.*convert it"):
            selectors.load_configuration(selectors.revision_get(old))
        with pytest.raises(Unprocessable, match="default holds a KubeSchedulerConfiguration"):
            selectors.load_algorithm(selectors.revision_get(selectors.policy_get("default")))

    def test_cannot_become_one_of_profiles(self, old: Policy, editor: User) -> None:
        document = f"# Now with profiles.\n{services.DEFAULT_DOCUMENT}"
        with pytest.raises(services.InvalidPolicyDocument) as caught:
            services.revision_save(policy=old, document=document, author=editor, expected=1)
        assert caught.value.problems[0].line == 3
        assert "old holds a classic Policy. A policy keeps its kind" in caught.value.detail
        assert old.revisions.count() == 1

    def test_one_of_profiles_cannot_become_classic(self, editor: User) -> None:
        default = selectors.policy_get("default")
        with pytest.raises(services.InvalidPolicyDocument) as caught:
            services.revision_save(policy=default, document=CLASSIC, author=editor, expected=1)
        assert caught.value.problems[0].line == 2

    def test_another_start_is_another_revision_that_can_be_taken_back(self, old: Policy, editor: User) -> None:
        second = services.revision_save(policy=old, document=CLASSIC, author=editor, expected=1, process={})
        assert (second.number, second.process) == (2, {})
        kept_revision = services.revision_save(policy=old, document=CLASSIC + "\n", author=editor, expected=2)
        assert kept_revision.process == {}
        third = services.revision_restore(policy=old, number=1, author=editor, expected=3)
        assert (third.number, third.document, third.process) == (4, CLASSIC, {"version": "1.9"})

    @pytest.mark.parametrize(
        ("process", "message"),
        [
            ({"version": "1.8"}, 'process.version: must be "1.13" or "1.9", is "1.8"'),
            ({"percentageOfNodesToScore": 101}, "process.percentageOfNodesToScore: must be from 0 to 100"),
            ({"gate": []}, "process.gate: is not known"),
        ],
    )
    def test_a_start_that_cannot_be_is_refused_at_its_field(
        self, process: dict[str, object], message: str, editor: User
    ) -> None:
        with pytest.raises(services.InvalidPolicyDocument) as caught:
            services.policy_create(name="odd", document=CLASSIC, author=editor, process=process)
        assert caught.value.problems[0].message.startswith(message)
        assert caught.value.problems[0].path == message.partition(":")[0]
        assert not Revision.objects.filter(policy__name="odd").exists()

    @pytest.mark.parametrize(
        ("process", "message"),
        [
            ({"version": "1.9"}, "process.version: is not known; there are release, featureGates, files"),
            (
                {"release": "newest"},
                "process.release: must be one of 1.34, 1.35, 1.36, 1.37, 1.38 preview (1.38.0-beta.0)",
            ),
            ({"featureGates": {"Nope": True}}, "process.featureGates: unrecognized feature gate: Nope"),
            ({"featureGates": ["Nope"]}, "process.featureGates: must be names with true or false"),
        ],
    )
    def test_profiles_name_a_release(self, process: dict[str, object], message: str, editor: User) -> None:
        with pytest.raises(services.InvalidPolicyDocument) as caught:
            services.policy_create(name="odd", document=services.DEFAULT_DOCUMENT, author=editor, process=process)
        (problem,) = caught.value.problems
        assert (problem.message, problem.path) == (message, message.partition(":")[0])


@pytest.mark.django_db
class TestOverRest:
    @pytest.fixture
    def api(self, api_as: Callable[[str], APIClient]) -> APIClient:
        return api_as("editor")

    def test_the_list_can_be_of_one_kind(self, old: Policy, api: APIClient) -> None:
        policies = api.get("/api/v1/policies/?kind=classic").json()["results"]
        assert [(policy["name"], policy["kind"]) for policy in policies] == [("old", "classic")]
        assert api.get("/api/v1/policies/?kind=other").status_code == 400

    def test_so_can_the_page(self, old: Policy, client_as: Callable[[str], Client]) -> None:
        page = client_as("viewer").get("/policies/?kind=profiles").content.decode().partition("<main")[2]
        assert "/policies/default/" in page
        assert "/policies/old/" not in page

    def test_a_revision_shows_how_it_was_started_and_can_be_saved_otherwise(self, old: Policy, api: APIClient) -> None:
        assert api.get("/api/v1/policies/old/revisions/1/").json()["process"] == {"version": "1.9"}
        body = {"document": CLASSIC, "process": {"gates": ["TaintNodesByCondition"]}}
        answer = api.post("/api/v1/policies/old/revisions/", body, headers={"If-Match": '"1"'})
        assert (answer.status_code, answer.json()["process"]) == (201, {"gates": ["TaintNodesByCondition"]})
        changes = api.get("/api/v1/policies/old/diff/?from=1&to=2").json()["changes"]
        assert {"where": "policy", "what": "version", "before": "1.9", "after": "1.13"} in changes

    def test_a_copy_is_started_as_what_it_is_a_copy_of(self, old: Policy, api: APIClient) -> None:
        assert api.post("/api/v1/policies/", {"name": "copy", "copy_of": "old"}).json()["kind"] == "classic"
        assert selectors.revision_get(selectors.policy_get("copy")).process == {"version": "1.9"}

    def test_documents_of_both_kinds_are_judged(self, api: APIClient) -> None:
        classic = api.post("/api/v1/policies/validate/", {"document": CLASSIC}).json()
        assert (classic["kind"], classic["valid"], classic["effective"]) == ("classic", True, None)
        assert [predicate["name"] for predicate in classic["classic"]["predicates"]] == [
            "CheckNodeCondition",
            "PodFitsResources",
        ]
        assert classic["classic"]["priorities"][0] | {"argument": ""} == {
            "name": "LeastRequestedPriority",
            "argument": "",
            "is_default": False,
            "is_mandatory": False,
            "weight": 3,
        }
        profiles = api.post("/api/v1/policies/validate/", {"document": services.DEFAULT_DOCUMENT}).json()
        assert (profiles["kind"], profiles["classic"]) == ("profiles", None)
        odd = api.post("/api/v1/policies/validate/", {"document": CLASSIC, "process": {"version": "2"}}).json()
        assert [error["path"] for error in odd["errors"]] == ["process.version"]


@pytest.mark.parametrize(
    "head",
    [
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
        "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n",
        "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n",
    ],
)
def test_profiles_have_a_bound(head: str) -> None:
    """Each has all defaults in what is shown of it: 16,000 in 450 kB were an answer of 106 MB, from 0.6 GB."""
    key = "name" if "descheduler" in head else "schedulerName"
    profiles = [f"- {key}: p{number}\n" for number in range(201)]
    (error,) = check_either(f"{head}profiles:\n{''.join(profiles)}").errors
    assert (error.path, error.line) == ("profiles", 3)
    assert error.message == "profiles: has 201 entries; at most 200 are taken"
    assert check_either(f"{head}profiles:\n{''.join(profiles[:-1])}").valid
