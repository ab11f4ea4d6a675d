"""docs/scenarios.md: its examples run, and it names every key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from kschedweb.engine.config import EMPTY
from kschedweb.engine.releases import load
from kschedweb.engine.state.watermarks.collected_watermarks import CollectedWatermarks
from kschedweb.engine.studies import prepare_scenario, read_scenario
from kschedweb.engine.studies.document.actions import ACTIONS
from kschedweb.engine.studies.document.keys import COLUMNS, DOCUMENT
from kschedweb.engine.studies.play.run import run_scenario
from tests.engine.builders import node

TEXT = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text()
NOW = 1_700_000_000
LEVELS = {"n0": 20, "n1": 40}
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
JOBS = b"submitted,seconds,cpu_percent,memory_mib,team\n0,600,150,512,red\n30,60,400,1024,blue\n"


def evening() -> CollectedWatermarks:
    """Use of two nodes in two hours, as docs/scenarios.md has it in text."""
    lines = [f"figure,object,{','.join(str(NOW - 300 * place) for place in range(24, -1, -1))}"]
    lines += [
        f"node/cpu/5m,{name},{','.join(str(level + place) for place in range(25))}" for name, level in LEVELS.items()
    ]
    return CollectedWatermarks.from_lines(lines)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.split("name: ")[1].split("\n")[0])
def test_each_example_runs(example: str) -> None:
    document = read_scenario(yaml.safe_load(example))
    base, history = ([node("n0"), node("n1")], evening()) if document.use.is_collected else ([], None)
    prepared_scenario = prepare_scenario(document, base, {"jobs.csv": JOBS}, seed=1, now=NOW, utilisation=history)
    configuration = load(EMPTY).configuration
    assert configuration is not None
    outcome = run_scenario(prepared_scenario, configuration)
    assert not prepared_scenario.notes
    assert (outcome.node >= 0).any()


def test_every_key_is_explained() -> None:
    assert len(EXAMPLES) == 8
    for struct in (DOCUMENT, COLUMNS):
        for field in struct.fields:
            assert f"`{field.name}" in TEXT, field.name
    for name, struct in ACTIONS.items():
        assert f"`{name}" in TEXT, name
        for field in struct.fields:
            assert re.search(rf"\b{field.name}\b", TEXT), f"{name}.{field.name}"
