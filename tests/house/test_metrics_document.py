"""docs/metrics.md: the names that kube-scheduler gives metrics, and which of them the site serves."""

from __future__ import annotations

from kschedweb.live.extender import metrics as extender
from kschedweb.live.schedulers.metrics import OWNER_LABELS, render_exposition
from kschedweb.live.shadow import run as shadow
from tests.live.test_metrics_live import DOCUMENT, families, ours, table

ROWS = table()


def test_what_is_served_is_in_the_table_with_its_labels() -> None:
    served = {name.removesuffix("_total"): sorted(family.labels - set(OWNER_LABELS)) for name, family in ours().items()}
    told = {row.name.removesuffix("_total"): sorted(row.labels) for row in ROWS if row.here}
    assert served == told


def test_what_is_left_out_has_a_reason() -> None:
    left = [row for row in ROWS if not row.here]
    assert len(left) > 20
    assert [row.name for row in left if not row.why.endswith((".", ".)"))] == []
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_names_of_our_own_are_told() -> None:
    assert extender.__name__
    assert shadow.__name__  # their series are registered where they are imported
    own = {name for name in families(render_exposition()[0].decode()) if name.startswith("kschedweb_")}
    assert own
    assert {name for name in own if name not in DOCUMENT.read_text(encoding="utf-8")} == set()
