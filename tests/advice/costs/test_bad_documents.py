"""Documents that cannot be: an error at its place on pages, over REST and on the command line; what was typed stays."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from kschedweb.accounts.models import User
from kschedweb.advice.costs.editor import FORM
from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.prices.selectors import sheet_get
from kschedweb.engine.__main__ import main
from kschedweb.engine.documents.marked_documents import as_yaml, parse_document
from kschedweb.playground.scenarios.models import ScenarioRevision
from kschedweb.playground.scenarios.services import scenario_create
from kschedweb.policies.models import Revision
from kschedweb.policies.services import policy_create
from tests.advice.costs.test_views import PRICES, TEXT, editor_fields
from tests.policies.descheduler.test_descheduler import POLICY
from tests.support.formfields import fields
from tests.support.html import elements
from tests.support.seed_karpenter import DOCUMENT

pytestmark = pytest.mark.django_db
RefusedCommand = Callable[..., str]
SOLD = "zone: a, capacityType: on-demand, price: "
INSTANCE_TYPES = f"""instanceTypes:
  - name: m-2
    capacity: {{cpu: "2", memory: 8Gi, pods: "20"}}
    offerings: [{{{SOLD}0.1}}]"""
BOUNDS = """values: [on-demand]
            - {key: karpenter.sh/cpu, operator: Gt, values: ["8"]}
            - {key: karpenter.sh/cpu, operator: Lt, values: ["8"]}"""
POOL = "nodePools[0].spec.template.spec.requirements"
KARPENTER = {
    "negative price": (
        "instanceTypes: ready",
        INSTANCE_TYPES.replace("0.1", "-0.1"),
        "instanceTypes[0].offerings[0].price",
    ),
    "no offerings": (
        "instanceTypes: ready",
        INSTANCE_TYPES.replace(f"{{{SOLD}0.1}}", ""),
        "instanceTypes[0].offerings",
    ),
    "no instance types": ("instanceTypes: ready", "instanceTypes: []", "instanceTypes"),
    "bounds that exclude one another": ("values: [on-demand]", BOUNDS, f"{POOL}[2]"),
    "older version": ("karpenter.sh/v1\n", "karpenter.sh/v1beta1\n", "nodePools[0].apiVersion"),
    "unknown kind": ("kind: NodePool", "kind: Provisioner", "nodePools[0].kind"),
}
DESCHEDULER = {
    "older version": ("v1alpha2", "v1alpha1", "apiVersion"),
    "unknown kind": ("kind: DeschedulerPolicy", "kind: Deschedule", "kind"),
    "unknown field": ("nodeFit", "nodeFitting", "profiles[0].pluginConfig[0].args.nodeFitting"),
}
GROUPS = """apiVersion: kschedweb/v1
kind: Scenario
name: groups
base: {empty: true}
changes:
  - addNodes: {name: control, count: 1, allocatable: {cpu: 100m, memory: 1Gi}}
autoscaler:
  clusterAutoscaler:
    expander: price
    nodeGroups:
      - {name: small, allocatable: {cpu: "2", memory: 8Gi}, min: 0, max: 10, price: 0.1}
run: {until: 1h}
"""
GROUP = "autoscaler.clusterAutoscaler.nodeGroups"
CLUSTER_AUTOSCALER = {
    "negative price": ("price: 0.1", "price: -0.1", f"{GROUP}[0].price"),
    "no node groups": (
        '      - {name: small, allocatable: {cpu: "2", memory: 8Gi}, min: 0, max: 10, price: 0.1}',
        "      []",
        GROUP,
    ),
    "no room": ('{cpu: "2", memory: 8Gi}', '{cpu: "2"}', f"{GROUP}[0]"),
    "bounds that exclude one another": ("min: 0", "min: 11", f"{GROUP}[0]"),
    "unknown expander": ("expander: price", "expander: cheapest", "autoscaler.clusterAutoscaler.expander"),
    "other version": ("kschedweb/v1", "kschedweb/v1beta1", "apiVersion"),
    "unknown autoscaler": ("clusterAutoscaler", "scaler", "autoscaler.scaler"),
}
TABLE = {
    "negative price": ("price: 0.5", "price: -0.5", "prices[0].price"),
    "no price": ("    price: 0.5\n", "", "prices[0].price"),
    "no rows": ("prices:\n  - instanceType: m6i.2xlarge # general\n    price: 0.5\n", "prices: none\n", "prices"),
    "other version": ("kschedweb/v1", "kschedweb/v2", "apiVersion"),
    "unknown kind": ("kind: PriceTable", "kind: Prices", "kind"),
}


GROUP_FIELDS = [
    ("name: small", "name: Small!", "name"),
    ('cpu: "2"', "cpu: two", "allocatable.cpu"),
    ("min: 0", "min: 0.5", "min"),
    ("max: 10", "max: many", "max"),
    ("price: 0.1", "price: .nan", "price"),
    ("price: 0.1", "priority: high", "priority"),
    ("price: 0.1", "zone: a b", "zone"),
    ("price: 0.1", "labels: {pool: a b}", "labels.pool"),
    ("price: 0.1", "taints: [{effect: NoSchedule}]", "taints[0].key"),
    ("price: 0.1", "taints: [{key: gpu, effect: Never}]", "taints[0].effect"),
    ("price: 0.1", "prices: 0.1", "prices"),
]
GROUPS_FIELDS = [
    ("expander: price", "expander: price\n    launch: -1m", "launch"),
    ("expander: price", "expander: price\n    scaleDown: {threshold: 50}", "scaleDown.threshold"),
    ("expander: price", "expander: price\n    scaleDown: {unneeded: soon}", "scaleDown.unneeded"),
    ("expander: price", "expander: price\n    scaleDown: {afterAdd: -1}", "scaleDown.afterAdd"),
    (
        "price: 0.1}",
        "price: 0.1}\n      - {name: small, allocatable: {cpu: 1, memory: 1}, max: 1}",
        "nodeGroups[1].name",
    ),
]
PARTS = {
    "prices: a negative price": ("prices", {"currency": "EUR", "prices": [{"instanceType": "a", "price": -1}]},
                                 "prices[0].price"),
    "descheduler: an older version": ("descheduler",
                                      {"policy": {**parse_document(POLICY).data, "apiVersion": "descheduler/v1"}},
                                      "policy.apiVersion"),
    "descheduler: no time": ("descheduler", {"policy": parse_document(POLICY).data, "every": 0}, "every"),
}  # fmt: skip


def replace_once(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.fixture
def refused_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RefusedCommand:
    """``refused_command("autoscale", stdin=…)`` ends with status 2, writes nothing, and says one line."""

    def run(*arguments: str, stdin: str = "") -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        assert main(list(arguments)) == 2
        out, message = capsys.readouterr()
        assert (out, message.count("\n")) == ("", 1)
        return message

    return run


def upload(text: str) -> SimpleUploadedFile:
    return SimpleUploadedFile("document.yaml", text.encode())


def error_paths(answer: Any) -> list[str]:
    assert answer["Content-Type"] == "application/problem+json"
    return [problem["path"] for problem in answer.json()["errors"]]


def policies_refuse(text: str, path: str, name: str, client: Any, api: Any) -> None:
    """The editor, a new policy and REST, each of which keeps ``text`` and says where it is wrong."""
    page = client.post(f"/policies/{name}/", {"document": text, "save": "1", "expected": "1", "comment": "because"})
    assert page.status_code == 422
    assert page.context["editor"].document == text
    assert path in {problem.path for problem in page.context["editor"].problems}
    assert page.context["save"].data["comment"] == "because"
    assert Revision.objects.filter(policy__name=name).count() == 1
    new = client.post("/policies/new/", {"name": "other", "description": "mine", "document": text})
    assert new.status_code in (400, 422)
    assert (new.context["form"].data["document"], new.context["form"].data["description"]) == (text, "mine")
    upload_page = client.post("/policies/new/", {"name": "other", "description": "mine", "file": upload(text)})
    assert upload_page.status_code == 422
    assert (upload_page.context["form"]["document"].value(), upload_page.context["form"].data["description"]) == (
        text,
        "mine",
    )
    assert path in {problem["path"] for problem in upload_page.context["problems"]}
    rejection = api.post("/api/v1/policies/", {"name": "other", "document": text})
    assert rejection.status_code == 422
    assert path in error_paths(rejection)
    verdict = api.post("/api/v1/policies/validate/", {"document": text}).json()
    assert (verdict["valid"], path in {error["path"] for error in verdict["errors"]}) == (False, True)


@pytest.mark.parametrize(("old", "new", "path"), KARPENTER.values(), ids=KARPENTER)
def test_nodepools(
    editor: User,
    client_as: Callable[..., Any],
    api_as: Callable[..., Any],
    refused_command: RefusedCommand,
    old: str,
    new: str,
    path: str,
) -> None:
    policy_create(name="nodepools", document=DOCUMENT, author=editor)
    text = replace_once(DOCUMENT, old, new)
    policies_refuse(text, path, "nodepools", client_as("editor"), api_as("editor"))
    data = parse_document(text).data
    scenario = {"name": "s", "objects": [], "instanceTypes": data["instanceTypes"], "nodePools": data["nodePools"]}
    message = refused_command("autoscale", stdin=json.dumps(scenario))
    assert (
        path.partition("[")[0] in message or "nodePools[0] (NodePool general): no instance type is offered" in message
    )


def test_requirements_that_no_instance_type_meets_are_a_warning_as_karpenter_takes_them(
    editor: User, client_as: Callable[..., Any], api_as: Callable[..., Any]
) -> None:
    text = replace_once(replace_once(DOCUMENT, "[on-demand]", "[reserved]"), "instanceTypes: ready", INSTANCE_TYPES)
    policy_create(name="nodepools", document=text, author=editor)
    message = "NodePool requirements filtered out all compatible available instance types"
    assert message in client_as("editor").get("/policies/nodepools/").content.decode()
    warnings = api_as("editor").post("/api/v1/policies/validate/", {"document": text}).json()["warnings"]
    assert [message in warning["message"] for warning in warnings] == [True]
    assert warnings[0]["path"].startswith("nodePools[0]")


@pytest.mark.parametrize(("old", "new", "path"), DESCHEDULER.values(), ids=DESCHEDULER)
def test_policies_of_the_descheduler(
    editor: User,
    client_as: Callable[..., Any],
    api_as: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    path: str,
) -> None:
    policy_create(name="spare", document=POLICY, author=editor)
    text = replace_once(POLICY, old, new)
    policies_refuse(text, path, "spare", client_as("editor"), api_as("editor"))
    # The command answers as the descheduler does, which says what it cannot read.
    monkeypatch.setattr(
        "sys.stdin", io.StringIO(json.dumps({"name": "s", "objects": [], "policy": parse_document(text).data}))
    )
    assert main(["deschedule"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert new.rpartition(" ")[2] in result["error"]
    assert result["evicted"] == []


@pytest.fixture
def scenarios_refuse(
    editor: User,
    client_as: Callable[..., Any],
    api_as: Callable[..., Any],
    refused_command: RefusedCommand,
    tmp_path: Path,
) -> Callable[[str, str], None]:
    """The editor, an upload, REST and the gate, each of which keeps the text and says where it is wrong."""

    def refuse(text: str, path: str) -> None:
        scenario = scenario_create(text=GROUPS, author=editor)
        form = {"document": text, "save": "1", "expected": "1", "comment": "because"}
        page = client_as("editor").post(f"/scenarios/{scenario.pk}/", form)
        assert page.status_code == 422
        assert page.context["editor"].document == text
        assert path in {problem.path for problem in page.context["editor"].checked.problems}
        assert ScenarioRevision.objects.count() == 1
        import_page = client_as("editor").post("/scenarios/import/", {"file": upload(text)})
        assert (import_page.status_code, import_page.context["form"]["text"].value()) == (422, text)
        assert path in {problem["path"] for problem in import_page.context["problems"]}
        rejection = api_as("editor").post("/api/v1/scenarios/", {"document": text})
        assert rejection.status_code == 422
        assert path in error_paths(rejection)
        file = tmp_path / "scenario.yaml"
        file.write_text(text, encoding="utf-8")
        assert path in run_gate(refused_command, tmp_path, "--scenario", str(file))

    return refuse


@pytest.mark.parametrize(("old", "new", "path"), CLUSTER_AUTOSCALER.values(), ids=CLUSTER_AUTOSCALER)
def test_node_groups(scenarios_refuse: Callable[[str, str], None], old: str, new: str, path: str) -> None:
    scenarios_refuse(replace_once(GROUPS, old, new), path)


@pytest.mark.parametrize(("old", "new", "path"), KARPENTER.values(), ids=KARPENTER)
def test_nodepools_of_a_scenario(scenarios_refuse: Callable[[str, str], None], old: str, new: str, path: str) -> None:
    document = parse_document(replace_once(DOCUMENT, old, new)).data
    karpenter = {name: document[name] for name in ("nodePools", "instanceTypes")}
    text = as_yaml({**parse_document(GROUPS).data, "autoscaler": {"karpenter": karpenter}})
    scenarios_refuse(text, f"autoscaler.karpenter.{path}")


@pytest.mark.parametrize(("key", "part", "path"), PARTS.values(), ids=PARTS)
def test_other_parts_of_a_scenario(
    scenarios_refuse: Callable[[str, str], None], key: str, part: dict[str, Any], path: str
) -> None:
    scenarios_refuse(as_yaml({**parse_document(GROUPS).data, key: part}), f"{key}.{path}")


@pytest.mark.parametrize(
    ("old", "new", "path"), [(old, new, f"nodeGroups[0].{name}") for old, new, name in GROUP_FIELDS] + GROUPS_FIELDS
)
def test_a_single_field_of_node_groups(
    client_as: Callable[..., Any], api_as: Callable[..., Any], demo: Snapshot, old: str, new: str, path: str
) -> None:
    text = replace_once(GROUPS, old, new)
    errors = api_as("editor").post("/api/v1/scenarios/validate/", {"document": text}).json()["errors"]
    assert [error["path"] for error in errors] == [f"autoscaler.clusterAutoscaler.{path}"]
    groups_text = as_yaml(parse_document(text).data["autoscaler"]["clusterAutoscaler"])
    page = client_as("viewer").post("/autoscaling/groups/?cluster=demo", {"document": groups_text})
    assert (page.status_code, page.context["document"]) == (422, groups_text)
    assert [problem.path for problem in page.context["problems"]] == [path]
    answer = api_as("viewer").post("/api/v1/autoscaling/groups/", {"cluster": "demo", "document": groups_text})
    assert (answer.status_code, error_paths(answer)) == (422, [path])


@pytest.mark.parametrize(("old", "new", "path"), TABLE.values(), ids=TABLE)
def test_price_tables(
    client_as: Callable[..., Any],
    api_as: Callable[..., Any],
    refused_command: RefusedCommand,
    demo: Snapshot,
    tmp_path: Path,
    old: str,
    new: str,
    path: str,
) -> None:
    text = replace_once(TEXT, old, new)
    form = {"version": "0", **editor_fields(FORM.open_editor(text)), "save": "1"}
    page = client_as("editor").post(PRICES, form)
    assert page.status_code == 422
    assert page.context["editor"].document == text
    assert path in {problem.path for problem in page.context["editor"].problems}
    uploaded_page = client_as("editor").post(PRICES, {"version": "0", "upload": "1", "file": upload(text)})
    assert uploaded_page.context["editor"].document == text
    assert path in {problem.path for problem in uploaded_page.context["editor"].problems}
    put = api_as("editor").put("/api/v1/clusters/demo/prices/", {"document": text}, HTTP_IF_MATCH='"0"')
    assert put.status_code == 422, put.json()
    assert path in error_paths(put)
    assert sheet_get(demo.cluster).version == 0
    prices, snapshot = tmp_path / "prices.yaml", tmp_path / "snapshot.json"
    prices.write_text(text, encoding="utf-8")
    snapshot.write_text(json.dumps({"kind": "List", "items": []}), encoding="utf-8")
    assert path in run_gate(refused_command, tmp_path, "--snapshot", str(snapshot), "--prices", str(prices))


CONTRADICTION = """- {key: kubernetes.io/arch, operator: In, values: [amd64]}
- {key: kubernetes.io/arch, operator: In, values: [arm64]}"""
EVICTOR = "profile.0.DefaultEvictor.args"
FIELDS = [
    ("nodepools", "pool.0.spec.weight", "101"),
    ("nodepools", "pool.0.spec.limits", "cpu: many"),
    ("nodepools", "pool.0.spec.disruption.consolidationPolicy", "Always"),
    ("nodepools", "pool.0.spec.disruption.budgets.0.nodes", "-1"),
    ("nodepools", "pool.0.requirements", CONTRADICTION),
    ("nodepools", "pool.0.requirements", "- {key: kubernetes.io/arch, operator: Near, values: [amd64]}"),
    ("spare", "maxNoOfPodsToEvictTotal", "-1"),
    ("spare", "nodeSelector", "a in"),
    ("spare", f"{EVICTOR}.minReplicas", "-1"),
    ("spare", f"{EVICTOR}.labelSelector", "matchLabels: [web]"),
    ("spare", "profile.0.HighNodeUtilization.args.thresholds.cpu", "a third"),
]


@pytest.mark.parametrize(("name", "field", "value"), FIELDS)
def test_a_single_field_of_a_policy(
    editor: User, client_as: Callable[..., Any], name: str, field: str, value: str
) -> None:
    text = {"nodepools": DOCUMENT, "spare": POLICY}[name]
    policy_create(name=name, document=text, author=editor)
    client = client_as("editor")
    form = fields(client.get(f"/policies/{name}/").content.decode(), "policy-form")
    assert field in form
    page = client.post(f"/policies/{name}/", form | {field: value, "comment": "because", "save": "1"})
    assert page.status_code == 422
    fields_by_name = {field.name: field for top in page.context["editor"].fields for field in top.walk()}
    at = next((part for part in (field, field.partition(".args")[0]) if fields_by_name[part].problems), "")
    assert at, page.context["editor"].problems
    assert (
        "".join(fields_by_name[field].value.split()) == "".join(value.split())
        or parse_document(fields_by_name[field].value).data == parse_document(value).data
    )
    assert elements(page, f"#{fields_by_name[at].id}-error")
    assert page.context["save"].data["comment"] == "because"
    assert Revision.objects.filter(policy__name=name).count() == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prices.prices.0.price", "-0.5"),
        ("prices.prices.0.price", "cheap"),
        ("prices.prices.0.price", "1e999"),
        ("prices.perNode", "-1"),
        ("prices.weights.cpu", "-1"),
        ("prices.prices.0.labels", "no pairs"),
        ("prices.prices.0.capacityType", "cheap"),
        ("prices.commitments.0.nodes", "0"),
        ("prices.commitments.0.discount", "140"),
    ],
)
def test_a_single_field_of_a_price_table(client_as: Callable[..., Any], demo: Snapshot, field: str, value: str) -> None:
    client = client_as("editor")
    form = {"version": "0", **editor_fields(FORM.open_editor(TEXT)), field: value, "save": "1"}
    page = client.post(PRICES, form)
    assert page.status_code == 422
    fields_by_name = {field.name: field for top in page.context["editor"].fields for field in top.walk()}
    assert (fields_by_name[field].value, bool(fields_by_name[field].problems)) == (value, True), page.context[
        "editor"
    ].problems
    assert sheet_get(demo.cluster).version == 0


def run_gate(refused_command: RefusedCommand, folder: Path, *arguments: str) -> str:
    policy = folder / "policy.yaml"
    policy.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n", encoding="utf-8"
    )
    return refused_command("gate", "--policy", str(policy), "--baseline", str(policy), *arguments)
