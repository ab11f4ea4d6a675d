from __future__ import annotations

from kschedweb.engine import Pod
from tests.engine.builders import pod


def requests(raw: dict) -> dict[str, int]:
    return Pod.from_json(raw).requests


def container(name: str, cpu: str, **more: object) -> dict:
    return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}


def test_containers_add_up() -> None:
    raw = pod("p", requests={"cpu": "500m", "memory": "1Gi"})
    raw["spec"]["containers"].append(container("side", "250m"))
    assert requests(raw) == {"cpu": 750, "memory": 2**30}


def test_requests_are_taken_from_limits_where_they_are_missing() -> None:
    raw = pod("p")
    raw["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}
    assert requests(raw) == {"cpu": 1000, "memory": 2**30}


def test_limits_are_kept_beside_the_requests_they_default() -> None:
    raw = pod("p")
    raw["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "2"}, "requests": {"memory": "1Gi"}}
    [container] = Pod.from_json(raw).resources.containers
    assert container.limits == {"cpu": 2 * 10**9}
    assert container.requests == {"cpu": 2 * 10**9, "memory": 2**30 * 10**9}


def test_the_largest_init_container_counts_where_it_is_larger_than_the_sum() -> None:
    raw = pod("p", requests={"cpu": "1"}, initContainers=[container("a", "3"), container("b", "2")])
    assert requests(raw) == {"cpu": 3000}


def test_a_sidecar_runs_beside_later_init_containers_and_the_containers() -> None:
    sidecar = container("sidecar", "1", restartPolicy="Always")
    raw = pod("p", requests={"cpu": "1"}, initContainers=[sidecar, container("init", "2500m")])
    assert requests(raw) == {"cpu": 3500}


def test_pod_level_requests_replace_the_sum_and_overhead_is_added() -> None:
    raw = pod("p", requests={"cpu": "1"}, resources={"requests": {"cpu": "2"}}, overhead={"cpu": "100m"})
    assert requests(raw) == {"cpu": 2100}


def test_fit_scoring_ignores_pod_level_requests() -> None:
    read = Pod.from_json(pod("p", resources={"requests": {"cpu": "2", "memory": "4Gi"}}))
    assert read.scoring_requests == {"cpu": 100, "memory": 200 * 2**20}


def test_an_explicit_zero_is_not_defaulted() -> None:
    assert Pod.from_json(pod("p", requests={"cpu": "0"})).scoring_requests["cpu"] == 0


def test_a_resized_container_counts_with_what_it_really_has() -> None:
    raw = pod("p", on="n", requests={"cpu": "1"})
    raw["status"] = {
        "containerStatuses": [
            {"name": "main", "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "2"}}
        ]
    }
    assert Pod.from_json(raw).occupied == {"cpu": 3000}
    raw["status"]["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
    raw["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "9"
    assert Pod.from_json(raw).occupied == {"cpu": 3000}
