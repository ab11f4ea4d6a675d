"""docs/metrics.md: the names that kube-scheduler gives metrics, and which of them the site serves."""

from __future__ import annotations

from kschedweb.live.extender import metrics as extender
from kschedweb.live.schedulers.metrics import OWNER_LABELS, render_exposition
from kschedweb.live.shadow import run as shadow
from tests.live.test_metrics_live import DOCUMENT, clear_series, families, ours, table

ROWS = table()


def test_what_is_served_is_in_the_table_with_its_labels() -> None:
    served_labels: dict[str, set[str]] = {}
    for entity_label in ("type", "entity"):  # of 1.37, and of 1.38
        clear_series()
        for name, family in ours(entity_label).items():
            served_labels.setdefault(name.removesuffix("_total"), set()).update(family.labels - set(OWNER_LABELS))
    documented_labels = {row.name.removesuffix("_total"): set(row.labels) for row in ROWS if row.exported}
    assert served_labels == documented_labels


def test_what_is_left_out_has_a_reason() -> None:
    left_out_rows = [row for row in ROWS if not row.exported]
    assert len(left_out_rows) > 20
    assert [row.name for row in left_out_rows if not row.why.endswith((".", ".)"))] == []
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_names_of_our_own_are_told() -> None:
    assert extender.__name__
    assert shadow.__name__  # their series are registered where they are imported
    own_families = {name for name in families(render_exposition()[0].decode()) if name.startswith("kschedweb_")}
    assert own_families
    assert {name for name in own_families if name not in DOCUMENT.read_text(encoding="utf-8")} == set()
