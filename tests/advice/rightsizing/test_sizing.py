from __future__ import annotations

import json
import shlex
from dataclasses import replace

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.advice.rightsizing import exports, past_effects, sizing
from kschedweb.advice.rightsizing.sizing import ContainerSize, HourlyRates, compute_sizes, limit_after, sum_sizes
from kschedweb.engine.rightsizing.aggregate_states import AggregateContainerStates, ContainerSample
from kschedweb.engine.rightsizing.recommender import MINUTE
from kschedweb.engine.rightsizing.samples import UsageSample
from kschedweb.watermarks.container_requests import Requested, collect_requests, find_kills

GIB = 1 << 30
BEGIN = 1_767_225_600 * 10**9
WEB, AGENT, SIDE = "shop/Deployment/web/main", "kube-system/DaemonSet/agent/main", "shop/Deployment/web/proxy"
RATES = HourlyRates(0.001, 1e-10, "EUR", True)


def book(minutes: int = 2000) -> AggregateContainerStates:
    """Two pods of the web use 0.2 cores and 0.5 GiB."""
    states = AggregateContainerStates.create_empty()
    samples = [
        ContainerSample(WEB, f"web-{pod}", UsageSample(BEGIN + minute * MINUTE, 200, GIB // 2))
        for minute in range(minutes)
        for pod in (1, 2)
    ]
    return states.with_samples(samples, BEGIN + minutes * MINUTE)


def compute_listed_sizes() -> list[ContainerSize]:
    requests = [
        Requested(WEB, 2, 2000, 4 * GIB, 4000, 4 * GIB, 2, False),
        Requested(SIDE, 2, 200, GIB, 0, 0, 2, True),
    ]
    return compute_sizes(book(), requests, sizing.VPA, RATES)


def test_a_container_is_told_what_it_requests_too_much() -> None:
    web, _ = compute_listed_sizes()
    assert (web.cpu.requested, web.memory.requested) == (1000, 2 * GIB)
    assert 200 < web.cpu.target < 300
    assert web.cpu.lower <= web.cpu.target <= web.cpu.upper
    assert web.cpu.saved == 2000 - 2 * web.cpu.target
    assert web.hour == pytest.approx(web.cpu.saved * RATES.cpu + web.memory.saved * RATES.memory)
    assert web.days == pytest.approx(1999 / 1440)


def test_a_container_without_history_is_never_guessed() -> None:
    _, proxy = compute_listed_sizes()
    assert not proxy.has_history
    assert not proxy.changes
    assert (proxy.cpu.target, proxy.memory.target) == (100, GIB // 2)
    assert (proxy.cpu.saved, proxy.hour) == (0, 0.0)
    totals = sum_sizes(compute_listed_sizes())
    assert (totals.containers, totals.unknown) == (2, 1)


@pytest.mark.parametrize("method", sizing.SHARES)
def test_percentiles_have_no_margin_and_no_minimum(method: str) -> None:
    requests = [Requested(WEB, 2, 2000, 4 * GIB, 0, 0, 1, False)]
    (plain,), (vpa,) = (
        compute_sizes(book(), requests, method_compared, RATES) for method_compared in (method, sizing.VPA)
    )
    assert 200 <= plain.cpu.target < vpa.cpu.target


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_limit_keeps_its_ratio_and_is_never_below_the_request(limit: int, before: int, target: int) -> None:
    limit_found = limit_after(limit, before, target)
    assert (limit_found == 0) == (limit == 0 or (target == 0 and before > 0))
    if limit:
        assert limit_found >= target
    if limit and before:
        assert limit_found == max(target, -(-limit * target // before))


uses = st.lists(st.floats(0, 10) | st.just(float("nan")), min_size=1, max_size=50)


@given(uses, st.floats(0, 10), st.floats(0, 10))
def test_a_higher_bound_is_passed_less(values: list[float], first: float, second: float) -> None:
    column, low, high = np.array(values)[:, None], np.array([min(first, second)]), np.array([max(first, second)])
    assert past_effects.hours_above(column, high, 300)[0] <= past_effects.hours_above(column, low, 300)[0]
    assert past_effects.count_rises(column, low)[0] <= (column > low).sum()
    assert (past_effects.count_rises(column, low)[0] > 0) == bool((column > low).any())


def test_kills_are_counted_by_rises_above_the_limit() -> None:
    column = np.array([1.0, 3, 3, 1, np.nan, 3, 1])[:, None]
    assert past_effects.count_rises(column, np.array([2.0])).tolist() == [2]
    assert past_effects.hours_above(column, np.array([2.0]), 1800).tolist() == [1.5]


def test_a_patch_names_requests_and_the_limits_that_there_are() -> None:
    web, _ = compute_listed_sizes()
    line = exports.text_of([web], exports.KUBECTL, "Off")
    words = shlex.split(line)
    assert words[:5] == ["kubectl", "--namespace=shop", "patch", "deployment", "web"]
    patch = json.loads(words[-1].removeprefix("--patch="))
    (container,) = patch["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": f"{web.cpu.target}m", "memory": str(web.memory.target)}
    assert container["resources"]["limits"]["cpu"] == f"{2 * web.cpu.target}m"
    (document,) = yaml.safe_load_all(exports.text_of([web], exports.PATCHES, "Off"))
    assert document["spec"] == patch["spec"]
    side = replace(web, name=SIDE, sidecar=True)
    (document,) = yaml.safe_load_all(exports.text_of([side], exports.PATCHES, "Off"))
    assert [container["name"] for container in document["spec"]["template"]["spec"]["initContainers"]] == ["proxy"]


@pytest.mark.parametrize("mode", exports.MODES)
def test_autoscalers_have_the_mode_that_was_chosen_and_one_is_made_a_workload(mode: str) -> None:
    web, proxy = compute_listed_sizes()
    agent = replace(web, name=AGENT)
    vpas = list(yaml.safe_load_all(exports.text_of([web, proxy, agent], exports.AUTOSCALERS, mode)))
    assert [vpa["spec"]["targetRef"]["name"] for vpa in vpas] == ["agent", "web"]
    assert {vpa["apiVersion"] for vpa in vpas} == {"autoscaling.k8s.io/v1"}
    assert {vpa["spec"]["updatePolicy"]["updateMode"] for vpa in vpas} == {mode}


def pod(name: str, **spec: object) -> dict[str, object]:
    return {"metadata": {"namespace": "shop", "name": name}, "spec": spec, "status": {"phase": "Running"}}


def test_sidecars_are_listed_and_init_containers_that_end_are_not() -> None:
    resources = {"requests": {"cpu": "250m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    spec = {
        "containers": [{"name": "main", "resources": resources}],
        "initContainers": [{"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"}],
    }
    pods = [pod("web-1", **spec), pod("web-2", **spec), pod("bare", **spec)]
    owners: dict[tuple[str, str], str | None] = {("shop", f"web-{number}"): "shop/Deployment/web" for number in (1, 2)}
    assert collect_requests(pods, owners) == (
        Requested(WEB, 2, 500, 2 * GIB, 0, 4 * GIB, 2, False),
        Requested(SIDE, 2, 0, 0, 0, 0, 2, True),
    )


def test_kills_are_read_from_statuses() -> None:
    dead = pod("web-1", containers=[{"name": "main", "resources": {"requests": {"memory": "1Gi"}}}])
    termination = {"reason": "OOMKilled", "finishedAt": "2026-01-01T00:00:00Z"}
    dead["status"] = {"containerStatuses": [{"name": "main", "lastState": {"terminated": termination}}]}
    (kill,) = find_kills([dead, pod("web-2", containers=[])])
    assert (kill.pod, kill.container, kill.at, kill.request) == ("web-1", "main", 1_767_225_600.0, GIB)
