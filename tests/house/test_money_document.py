"""docs/money.md: its table is read, its sums come out, and it names every key and measure."""

from __future__ import annotations

import re

import pytest
import yaml

from kschedweb.advice.costs.billing import MONTH
from kschedweb.engine.pricing.costs import Rates
from kschedweb.engine.pricing.price_table import DOCUMENT, INSTANCE_TYPE, read_price_table
from kschedweb.engine.studies.measure.conditions import PRICED
from kschedweb.engine.studies.measure.registry import MEASURES
from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "money.md").read_text(encoding="utf-8")
TABLE = read_price_table(yaml.safe_load(re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)[0]))


def test_the_hour_of_the_example_costs_what_is_said() -> None:
    labels = [{INSTANCE_TYPE: "m.large"}] * 12 + [{"pool": "gpu"}]
    assert Rates.from_table(TABLE, labels).cost_per_hour().amount == pytest.approx(5.10)
    assert "+ 13 × 0.1 = 5.10 EUR" in TEXT
    assert f"A month is {MONTH} hours." in TEXT


def test_every_key_and_every_measure_is_explained() -> None:
    for field in DOCUMENT.fields:
        assert f"`{field.name}`" in TEXT or field.name in ("apiVersion", "kind"), field.name
    priced_measures = {spec.name for spec in MEASURES if spec.when is PRICED}
    assert priced_measures == {
        name for name in re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE) if name in priced_measures
    }
