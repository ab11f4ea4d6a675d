"""Cost of `make run` with its sandbox while nobody looks: processor seconds of the one process over a minute."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.people import processor_time
from tests.support.processes import wait_until
from tests.support.site import PASSWORD, made_run

pytestmark = pytest.mark.nightly

SETTLED, MEASURED = 60, 60  # seconds
LIMIT = 0.05 * MEASURED * 1000  # milliseconds: 5 % of one core


def test_the_embedded_process_rests_while_nobody_looks(tmp_path: Path, report: Callable[..., None]) -> None:
    with made_run(tmp_path, KSCHEDWEB_ADMIN_PASSWORD=PASSWORD) as run:
        run.site.login("admin", PASSWORD)
        live = run.site.ask("GET", "live/")["results"]
        assert len(live) == 3
        wait_until(lambda: run.site.ask("GET", "approvals/?state=waiting")["results"], "guarded is at work")
        assert run.process is not None
        site = embedded(run.process.pid)
        time.sleep(SETTLED)
        before = processor_time(site)
        time.sleep(MEASURED)
        spent = processor_time(site) - before
    report(
        "sandbox: a minute of `make run` that nobody looks at",
        [spent],
        LIMIT,
        f"{spent / 10 / MEASURED:.1f} % of a core",
    )


def embedded(pid: int) -> int:
    """The process of the site below that of make."""
    while not Path(f"/proc/{pid}/comm").read_text().startswith("python"):
        [below] = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        pid = int(below)
    return pid
