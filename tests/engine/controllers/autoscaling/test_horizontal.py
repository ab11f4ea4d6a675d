"""The controller of HorizontalPodAutoscalers: what holds whatever it sees, and its documented arithmetic."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.controllers.autoscaling.horizontal import SYNC, HorizontalController
from kschedweb.engine.controllers.autoscaling.replica_calculator import ObservedPod, PodMetric
from kschedweb.engine.controllers.autoscaling.spec import Autoscaler, Behavior, Metric, ScalingPolicy, ScalingRules
from kschedweb.engine.controllers.autoscaling.stabilization import ScalingMemory
from kschedweb.engine.objects.resources import read_resources

RESOURCES = read_resources({"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}, {})
WINDOW = 300.0
policies = st.lists(
    st.builds(ScalingPolicy, st.sampled_from(["Pods", "Percent"]), st.integers(1, 200), st.integers(1, 120)),
    min_size=1,
    max_size=3,
).map(tuple)
rules = st.builds(
    ScalingRules, policies, st.sampled_from(["Max", "Min", "Disabled"]), st.sampled_from([None, 0, 30, 300])
)
behaviors = st.none() | st.builds(Behavior, rules, rules)


def autoscaler(
    min_replicas: int = 1, max_replicas: int = 10, target: int = 50, behavior: Behavior | None = None
) -> Autoscaler:
    return Autoscaler("a/b", "a/Deployment/b", max_replicas, min_replicas, (Metric(utilization=target),), behavior)


def look(controller: HorizontalController, replicas: int, used: float, now: float) -> int:
    """``replicas`` pods that were always ready use ``used`` cores each, of one that they request."""
    pods = [ObservedPod(f"p{place}", RESOURCES, since=-1e6, started=-1e6) for place in range(replicas)]
    measured = {pod.name: PodMetric(round(used * 1000), now, SYNC) for pod in pods}
    return controller.reconcile(replicas, pods, {"cpu": measured}, now).replicas


def test_as_many_pods_are_wanted_as_would_have_met_the_target() -> None:
    assert look(HorizontalController(autoscaler()), 3, 0.8, 0.0) == math.ceil(3 * 0.8 / 0.5)
    assert look(HorizontalController(autoscaler()), 4, 0.54, 0.0) == 4  # within the tolerance
    assert look(HorizontalController(autoscaler()), 3, 8.0, 0.0) == 6  # twice as many at once, at most


def test_fewer_pods_are_wanted_once_nothing_else_was_for_five_minutes() -> None:
    controller, replicas, replica_counts = HorizontalController(autoscaler()), 4, []
    for step in range(30):
        replicas = look(controller, replicas, 0.5 if step == 0 else 0.1, step * SYNC)
        replica_counts.append(replicas)
    first = next(step for step, count in enumerate(replica_counts) if count < 4)
    assert first * SYNC > WINDOW >= (first - 1) * SYNC
    assert replica_counts[first:] == [1] * (30 - first)


@given(behaviors, st.lists(st.floats(0.0, 5.0), min_size=1, max_size=60), st.integers(1, 20), st.integers(1, 6))
def test_the_number_of_pods_stays_within_its_bounds(
    behavior: Behavior | None, used: list[float], first: int, min_replicas: int
) -> None:
    controller, replicas = HorizontalController(autoscaler(min_replicas, 12, behavior=behavior)), first
    for step, usage in enumerate(used):
        replicas = look(controller, replicas, usage, step * SYNC)
        assert min_replicas <= replicas <= 12


@given(rules, st.lists(st.tuples(st.integers(1, 30), st.integers(1, 40)), min_size=1, max_size=40))
def test_rates_are_kept(up: ScalingRules, recommendations: list[tuple[int, int]]) -> None:
    """In no period more pods are added than the policy that is chosen allows."""
    scaler = autoscaler(1, 1000, behavior=Behavior(ScalingRules(up.policies, up.select, 0)))
    memory, replicas, history = ScalingMemory(), recommendations[0][0], [(0.0, recommendations[0][0])]
    for step, (count, _) in enumerate(recommendations):
        now = (step + 1) * SYNC
        desired = memory.normalize_desired_replicas(scaler, replicas, max(count, replicas), now).replicas
        if desired != replicas:
            memory.store_scale_event(scaler.behavior, replicas, desired, now)
        if up.select == "Disabled":
            assert desired == replicas
        else:
            limits = [allowed(policy, history, now) for policy in up.policies]
            assert desired <= max(replicas, min(limits) if up.select == "Min" else max(limits))
        replicas = desired
        history.append((now, replicas))


def allowed(policy: ScalingPolicy, history: list[tuple[float, int]], now: float) -> int:
    begin = [count for time, count in history if time <= now - policy.period] or [history[0][1]]
    start = begin[-1]
    return start + policy.value if policy.kind == "Pods" else math.ceil(start * (1 + policy.value / 100))
