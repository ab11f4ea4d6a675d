"""docs/scenarios.md: its examples run, and it names every key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from kschedweb.engine.config import EMPTY, load
from kschedweb.engine.whatif import prepare, read
from kschedweb.engine.whatif.keys import ACTIONS, COLUMNS, DOCUMENT
from kschedweb.engine.whatif.run import run

TEXT = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
JOBS = b"submitted,seconds,cpu_percent,memory_mib,team\n0,600,150,512,red\n30,60,400,1024,blue\n"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.split("name: ")[1].split("\n")[0])
def test_each_example_runs(example: str) -> None:
    prepared = prepare(read(yaml.safe_load(example)), [], {"jobs.csv": JOBS}, seed=1, now=0.0)
    configuration = load(EMPTY).configuration
    assert configuration is not None
    outcome = run(prepared, configuration)
    assert not prepared.notes
    assert (outcome.node >= 0).any()


def test_every_key_is_explained() -> None:
    assert len(EXAMPLES) == 4
    for struct in (DOCUMENT, COLUMNS):
        for field in struct.fields:
            assert f"`{field.key}" in TEXT, field.key
    for name, struct in ACTIONS.items():
        assert f"`{name}" in TEXT, name
        for field in struct.fields:
            assert re.search(rf"\b{field.key}\b", TEXT), f"{name}.{field.key}"
