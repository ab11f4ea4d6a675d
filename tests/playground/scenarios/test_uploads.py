"""Large files of scenarios: a process holds one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.clusters.importing.uploads import LARGE, one_large_at_a_time

pytestmark = pytest.mark.django_db

HEAD = (
    b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
)
ROW = b"pod,100,64,0,0,,LS,Running,1,61,1\n"


def test_a_second_large_file_is_told_to_come_again_and_a_small_one_is_taken(api_as: Callable[[str], Any]) -> None:
    client = api_as("editor")
    scenario_id = client.post("/api/v1/scenarios/", {"document": "kind: Scenario\nname: A\n"}).json()["id"]
    address = f"/api/v1/scenarios/{scenario_id}/files/?name="
    large = HEAD + ROW * (LARGE // len(ROW))

    def send(name: str, body: bytes) -> Any:
        return client.generic("POST", address + name, body, content_type="text/csv")

    with one_large_at_a_time(LARGE + 1):
        rejection = send("large.csv", large)
        assert rejection.status_code == 503
        assert "Another large file is being read" in rejection.json()["detail"]
        assert send("small.csv", HEAD + ROW).status_code == 201
    assert send("large.csv", large).status_code == 201
