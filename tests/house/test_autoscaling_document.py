"""docs/autoscaling.md: its code runs, and its instance type is understood."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from kschedweb.engine.autoscaling.document import read_document as read_karpenter
from kschedweb.engine.autoscaling.offers.instance_types import InstanceType
from kschedweb.engine.autoscaling.offers.ready_catalogue import ready_types
from kschedweb.engine.autoscaling.scenario import answer_scenario
from kschedweb.engine.config import default_document
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.studies.actors.autoscaler.keys import AUTOSCALER, CLUSTER_AUTOSCALER, KARPENTER, NODE_GROUP
from kschedweb.engine.studies.document.document import read_scenario as read_scenario
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import prepare_scenario
from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "autoscaling.md").read_text(encoding="utf-8")
YAML = re.findall(r"```yaml\n(.*?)\n```", TEXT, re.DOTALL)
BLOCKS = {kind: text for kind, text in re.findall(r"```(\w+)\n(.*?)\n```", TEXT, re.DOTALL)}


def test_the_library_launches_a_node_for_a_pod(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(BLOCKS["python"], "docs/autoscaling.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == "['default/web-1'] compute-4 0.064\n"


def test_the_instance_type_is_read() -> None:
    instance_type = InstanceType.from_json(json.loads(BLOCKS["json"]))
    assert (instance_type.find_price("zone-a", "on-demand"), instance_type.offerings[1].reservation) == (0.2, "r-1")
    assert "15 types" in TEXT
    assert len(ready_types()) == 15


def test_every_part_of_an_answer_is_told() -> None:
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "p"}, "spec": {}}
    answer = answer_scenario(
        {"instanceTypes": "ready", "nodePools": [pool], "disrupt": True, "explain": True}, lambda: 0.0
    )
    for part in ("provisioning", "disruption", "explained"):
        for key in (part, *answer[part]):
            assert f"`{key}`" in TEXT, key


def test_the_document_of_kind_karpenter_is_read() -> None:
    karpenter = read_karpenter(yaml.safe_load(YAML[0]))
    assert ([pool.name for pool in karpenter.pools], karpenter.ready, karpenter.settings.spot_to_spot) == (
        ["default"],
        True,
        True,
    )


@pytest.mark.parametrize("example", YAML[1:])
def test_each_scenario_brings_nodes_for_all_pods(example: str) -> None:
    configuration = load(default_document(), CURRENT).configuration
    assert configuration is not None
    outcome = run_scenario(
        prepare_scenario(read_scenario(yaml.safe_load(example)), [], {}, seed=1, now=0.0), configuration
    )
    assert {action for _, action, *_ in outcome.autoscaler_actions} >= {"launched"}
    assert not len(outcome.pending)


def test_every_key_and_measure_of_scenarios_is_told() -> None:
    for struct in (AUTOSCALER, KARPENTER, CLUSTER_AUTOSCALER, NODE_GROUP):
        for field in struct.fields:
            assert re.search(rf"\b{field.name}\b", TEXT), field.name
    for name in ("node_cost", "node_hours_unpriced", "nodes_launched", "nodes_removed", "evictions_rate"):
        assert f"`{name}`" in TEXT
