"""docs/sweeps.md: its numbers are those of the code, and its example is one that is taken."""

from __future__ import annotations

import json
import re
from pathlib import Path

from kschedweb.engine.config import EMPTY
from kschedweb.engine.studies.search.sensitivity import FEWEST, MOST_GROUPS
from kschedweb.engine.studies.search.space import KEYS, MOST_DIMENSIONS, read_space
from kschedweb.playground.sweeps import selectors, services, worker
from kschedweb.playground.sweeps.models import Method

TEXT = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text()


def test_its_example_is_taken() -> None:
    example_match = re.search(r"-d '(\{.*?\})'\n", TEXT, re.S)
    assert example_match is not None
    example = json.loads(example_match[1])
    assert read_space(example["space"], EMPTY).size == 22
    assert all(selectors.get_objective(objective["measure"]) for objective in example["objectives"])
    assert example["method"] in Method.values


def test_it_names_every_key_of_a_dimension() -> None:
    assert [key for key in KEYS if f"`{key}" not in TEXT] == []


def test_its_numbers_are_those_of_the_code() -> None:
    for sentence in (
        f"renews its claim every {worker.BEAT:g} seconds",
        f"not renewed for {worker.CLAIM.total_seconds():g} seconds",
        f"does trials for {worker.TURN:g} seconds",
        f"from 2 to {services.MOST_TRIALS:,} trials",
        f"1 to {MOST_DIMENSIONS} dimensions",
        f"(up to {services.MOST_SEEDS})",
    ):
        assert sentence in TEXT, sentence
    words = {3: "three", 4: "four", 5: "five", 8: "eight"}
    assert f"ends {words[worker.MAX_ATTEMPTS]} workers" in TEXT
    assert f"One to {words[services.MOST_OBJECTIVES]} measures" in TEXT
    assert f"up to {words[services.MOST_ALONE]} values" in TEXT
    assert f"{words[worker.AHEAD]} at a time" in TEXT
    assert f"more than {words[MOST_GROUPS]} different numbers" in TEXT
    assert f"fewer than {words[FEWEST]} trials" in TEXT
