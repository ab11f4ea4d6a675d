"""A Python client, generated from docs/openapi.yaml by `make client`, against the running site."""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kschedweb.accounts import services as accounts
from kschedweb.clusters.models import PodRow
from kschedweb.clusters.services import demo_load
from tests.conftest import ROOT
from tests.support.needs import missing

if TYPE_CHECKING:
    from pytest_django.live_server_helper import LiveServer

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.server
EXAMPLES = yaml.safe_load((ROOT / "kschedweb" / "examples.yaml").read_text(encoding="utf-8"))
PACKAGE = "kschedweb_client"


@pytest.fixture(scope="module")
def generated_package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The package, made anew of the document; only uploads of YAML files are beyond the generator."""
    if importlib.util.find_spec("openapi_python_client") is None:
        missing("install openapi-python-client")
    folder = tmp_path_factory.mktemp("client")
    command = ["make", "client", f"OUT={folder / PACKAGE}", "DEV_STAMP=", f"BIN={Path(sys.executable).parent}"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    left_out = [line for line in process.stdout.splitlines() if "Endpoint will not be generated" in line]
    assert [line.split()[3] for line in left_out] in ([], ["/api/v1/clusters/import/", "/api/v1/scenarios/import/"])
    sys.path.insert(0, str(folder))
    yield importlib.import_module(PACKAGE)
    sys.path.remove(str(folder))


class Api:
    """The generated functions and models by name, called as a person with a token."""

    def __init__(self, package: ModuleType, address: str, token: str) -> None:
        self.address, self.token = address, token
        self._client = package.AuthenticatedClient(base_url=address, token=token)
        self._models = importlib.import_module(f"{PACKAGE}.models")

    def __call__(self, group: str, operation: str, *path_arguments: Any, **arguments: Any) -> Any:
        """Call ``operation`` and return its status, and the body as the model that the document promises."""
        function = importlib.import_module(f"{PACKAGE}.api.{group}.{operation}")
        return function.sync_detailed(*path_arguments, client=self._client, **arguments)

    def example(self, model: str, operation: str) -> Any:
        """The document's example of the body of ``operation``."""
        return getattr(self._models, model).from_dict(EXAMPLES[operation])

    def model(self, name: str) -> Any:
        return getattr(self._models, name)


@pytest.fixture
def api(generated_package: ModuleType, live_server: LiveServer, admin: User, plain_demo: None) -> Api:
    demo_load()
    _, key = accounts.token_create(user=admin, name="client", scope="edit", days=1)
    return Api(generated_package, live_server.url, key)


def test_lists_are_typed_and_go_on(api: Api) -> None:
    response = api("clusters", "clusters_list")
    assert (response.status_code, [row.name for row in response.parsed.results]) == (200, ["demo"])
    assert response.parsed.results[0].counts["Node"] == 60
    keys, cursor = set(), None
    while True:
        page = api("clusters", "clusters_pods_list", "demo", **({"cursor": cursor} if cursor else {})).parsed
        keys |= {f"{row.namespace}/{row.name}" for row in page.results}
        if not page.next_:
            break
        cursor = page.next_.partition("cursor=")[2].partition("&")[0]
    assert len(keys) == PodRow.objects.count()


def test_a_decision_is_an_object(api: Api) -> None:
    response = api("clusters", "decision_retrieve", "demo", "ml", "notebook")
    assert response.status_code == 200
    assert response.parsed.chosen in response.parsed.feasible
    assert response.parsed.bound_to == ""
    assert response.parsed.total[response.parsed.chosen] == max(response.parsed.total.additional_properties.values())


def test_a_policy_is_made_edited_and_never_overwritten_unseen(api: Api) -> None:
    creation = api("policies", "policies_create", body=api.example("PolicyCreateRequest", "policies_create"))
    assert (creation.status_code, creation.parsed.name) == (201, "packing")
    body = api.example("RevisionCreateRequest", "policies_revisions_create")
    revision = api("policies", "policies_revisions_create", "packing", body=body, if_match='"1"')
    assert (revision.status_code, revision.parsed.number) == (201, 2)
    stale = api("policies", "policies_revisions_create", "packing", body=body, if_match='"1"')
    assert (stale.status_code, type(stale.parsed)) == (412, api.model("Problem"))
    unsaid = api("policies", "policies_revisions_create", "packing", body=body, if_match="")
    assert (unsaid.status_code, unsaid.parsed.status) == (428, 428)
    assert 'If-Match: "2"' in unsaid.parsed.detail


@pytest.mark.parametrize(
    ("operation", "model", "attribute"),
    [
        ("capacity_fit", "FitRequestRequest", "count"),
        ("capacity_gangs", "GangsRequestRequest", "count"),
        ("capacity_nodes", "NodesRequestRequest", "fit_now"),
        ("capacity_drain", "DrainRequestRequest", "emptied"),
    ],
)
def test_the_examples_are_answered(api: Api, operation: str, model: str, attribute: str) -> None:
    response = api("capacity", operation, body=api.example(model, operation))
    assert response.status_code in (200, 202), response.content
    assert response.status_code == 202 or hasattr(response.parsed, attribute)


def test_wrong_input_is_a_problem_that_says_where(api: Api) -> None:
    body = api.model("FitRequestRequest").from_dict({"cluster": "demo", "pod": {"requests": {"cpu": "much"}}})
    response = api("capacity", "capacity_fit", body=body)
    assert (response.status_code, type(response.parsed)) == (400, api.model("Problem"))
    assert [error.path for error in response.parsed.errors] == ["requests.cpu"]


def test_the_documents_program_runs(api: Api, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """docs/automating.md, as it stands."""
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "automating.md").read_text(), re.DOTALL)
    monkeypatch.setenv("KSCHEDWEB_URL", api.address)
    monkeypatch.setenv("KSCHEDWEB_TOKEN", api.token)
    exec(compile(program, "automating.md", "exec"), {})
    output_lines = capsys.readouterr().out.splitlines()
    assert len(output_lines) == PodRow.objects.filter(pending=True).count() > 0
