from __future__ import annotations

import pytest

from kschedweb.engine.objects.labels import SelectorError
from kschedweb.engine.rebalancing.selectors import parse_selector

LABELS = {"zone": "a", "count": "5", "empty": ""}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("zone", True),
        ("!zone", False),
        ("!gpu", True),
        ("zone=a", True),
        ("zone==a", True),
        ("zone!=a", False),
        ("gpu!=a", True),
        ("empty==", True),
        ("zone in (a, b)", True),
        ("zone notin (a, b)", False),
        ("count>4", True),
        ("count<5", False),
        ("zone=a,count>4,!gpu", True),
        ("zone=a,count>5", False),
    ],
)
def test_a_selector_is_read_as_kubectl_reads_it(text: str, matches: bool) -> None:
    assert parse_selector(text).matches(LABELS) is matches


@pytest.mark.parametrize("text", ["a b", "a=b c", "a in b", "a,", ",a", "a in (b", "-a=b", "a=b!"])
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(SelectorError):
        parse_selector(text)
