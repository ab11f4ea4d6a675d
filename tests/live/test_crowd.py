"""A few people on the scaled-out site while Redis, then PostgreSQL, go away and return: ``tests.bench.crowd`` in small.

Only what they are told counts, never how long it takes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import crowd

PEOPLE, MINUTES, AWAY, NODES, PODS = 10, 0.6, 4.0, 100, 300


@pytest.mark.nightly
def test_nobody_is_told_500_while_redis_and_the_database_go_away(assets: Path, tmp_path: Path) -> None:
    with crowd.brought(assets, tmp_path, NODES, PODS) as trial:
        crowd.hold(trial, crowd.hired(trial, PEOPLE, PODS), MINUTES, AWAY)
    assert crowd.wrong(trial) == []
    assert [outage.name for outage in trial.outages] == ["Redis", "PostgreSQL"]
    assert trial.log.events
    answered_kinds = {row.kind for row in trial.log.rows if row.status == 200}
    assert answered_kinds >= {"live page", "decision", "inbox", "stream opened"}
