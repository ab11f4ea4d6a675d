"""deploy/quickstart.yaml: one site that may read what docs/rbac.yaml says, and that an API server takes."""

from __future__ import annotations

from typing import Any

import yaml

from kschedweb import __version__
from kschedweb.engine.refusals import find_refusals
from tests.conftest import ROOT


def objects_of(file: str) -> dict[str, dict[str, Any]]:
    return {raw["kind"]: raw for raw in yaml.safe_load_all((ROOT / file).read_text())}


def test_it_reads_what_the_documents_say_and_no_more() -> None:
    assert objects_of("deploy/quickstart.yaml")["ClusterRole"] == objects_of("docs/rbac.yaml")["ClusterRole"]


def test_its_pod_is_taken_and_is_of_this_version() -> None:
    listed = objects_of("deploy/quickstart.yaml")
    template = listed["Deployment"]["spec"]["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "kschedweb"},
        "spec": template["spec"],
    }
    assert list(find_refusals(pod)) == []
    (container,) = template["spec"]["containers"]
    assert container["image"] == f"kschedweb:{__version__}"
    assert template["spec"]["serviceAccountName"] == listed["ServiceAccount"]["metadata"]["name"]
    assert listed["Service"]["spec"]["selector"].items() <= template["metadata"]["labels"].items()
