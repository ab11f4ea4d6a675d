"""`make run`: a run that is too large for its memory ends with a sentence, and the site goes on beside and after it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import seed_runs
from tests.support.processes import wait_until
from tests.support.site import PASSWORD, Site, made_run

MEMORY = "512"  # MiB
TOO_MANY = 290_000  # pods


def scenario(site: Site, name: str, pods: int) -> str:
    """Its id; ``pods`` come within an hour."""
    document = seed_runs.document(pods=4, changes=[]) | {"name": name}
    document["arrivals"] = [{"generate": {"perHour": pods, "until": "1h", "shapes": [seed_runs.SMALL]}}]
    scenario_id: str = site.ask("POST", "scenarios/", {"document": json.dumps(document)})["id"]
    return scenario_id


def started(site: Site, scenario: str) -> str:
    """The id of the job of a run that has been started."""
    job: str = site.ask("POST", "runs/start/", {"scenario": scenario, "policy": "default"})["job"]
    return job


@pytest.mark.nightly
def test_a_run_too_large_for_its_memory_ends_with_a_sentence_and_nothing_else_does(tmp_path: Path) -> None:
    with made_run(
        tmp_path, KSCHEDWEB_ADMIN_PASSWORD=PASSWORD, KSCHEDWEB_JOB_MEMORY_MIB=MEMORY, KSCHEDWEB_SANDBOX="false"
    ) as run:
        site = run.site
        site.login("admin", PASSWORD)
        small = scenario(site, "small", pods=20)
        large, small_job = started(site, scenario(site, "large", pods=TOO_MANY)), started(site, small)
        ended: dict[str, Any] = {}

        def over() -> bool:
            ended.update(site.ask("GET", f"jobs/{large}/"))
            return bool(ended["ended_at"])

        wait_until(over, "the large run ended", seconds=300, step=0.5)
        assert ended["error"].startswith("This needed more memory than the 512 MiB that a job may use: ")
        assert (ended["state"], ended["attempt"]) == ("failed", 1)
        site.wait_for_job(small_job)
        site.wait_for_job(started(site, small))
        assert site.answers("/readyz")
