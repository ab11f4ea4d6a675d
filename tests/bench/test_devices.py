"""Devices for resource claims, beside kube-scheduler's own allocator in the same run."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from kschedweb.engine import Scheduler, Snapshot
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from tests.bench import workloads
from tests.bench.conftest import measure_milliseconds
from tests.bench.test_engine import ours

Oracle = Callable[[str, str], Any]
NODES, DEVICES, CLAIMS = 1000, 8, 2000
# How many times as fast as kube-scheduler: about half of what a loaded machine has shown.
LIMIT = 12
DRIVER, MODELS = "gpu.example.com", ["a100", "h100", "l40"]


def device(node: int, number: int) -> Json:
    attributes = {
        "model": {"string": MODELS[node % 3]},
        "uuid": {"string": f"gpu-{node:06}-{number}"},
        "example.com/socket": {"int": number // 4},
        "driverVersion": {"version": "1.2.3"},
    }
    return {"name": f"gpu-{number}", "attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}}


def resource_slice(node: int) -> Json:
    name = f"node-{node:06}"
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    devices = [device(node, number) for number in range(DEVICES)]
    spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
    return make_object("ResourceSlice", f"slice-{node}", spec)


def make_object(kind: str, name: str, spec: Json) -> Json:
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def selector(expression: str) -> Json:
    return {"cel": {"expression": expression}}


def claim(number: int) -> Json:
    """One device or two on one socket, of a model; most ask the same as others."""
    model_selector = selector(f'device.attributes["{DRIVER}"].model == "{MODELS[number % 2]}"')
    large = selector(f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0')
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "selectors": [model_selector, large]}
    spec: Json = {"devices": {"requests": [{"name": "gpu", "exactly": exactly | {"count": 1 + number % 5 // 4}}]}}
    spec["devices"]["constraints"] = [{"matchAttribute": "example.com/socket"}]
    raw_claim = make_object("ResourceClaim", f"claim-{number}", spec)
    return raw_claim | {"metadata": raw_claim["metadata"] | {"namespace": "bench", "uid": f"claim-{number}"}}


def pod(number: int) -> Json:
    raw_pod = workloads.pod(f"pod-{number}", {}, {})
    raw_pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": f"claim-{number}"}]
    return raw_pod


def scenario(pending: int, claims: int = 0) -> Json:
    """1,000 nodes of 8 devices; so many pods, each with a claim of its own; ``claims`` are more, for pods to come."""
    of_driver = {"selectors": [selector(f'device.driver == "{DRIVER}"')]}
    objects = [workloads.node(number) for number in range(NODES)]
    objects += [resource_slice(number) for number in range(NODES)]
    objects += [
        make_object("DeviceClass", "gpu", of_driver),
        *(claim(number) for number in range(max(pending, claims))),
    ]
    pods = [pod(number) for number in range(pending)]
    return {"name": "devices", "config": workloads.CONFIG, "objects": objects, "pending": pods}


def test_devices_are_found(oracle: Oracle, compare: Callable[..., None], long: bool) -> None:
    text = json.dumps(scenario(150, CLAIMS if long else 0))  # for pods of all these claims the oracle takes hours
    theirs = oracle("bench", text)
    limit = 20 if long else LIMIT
    mine = ours(text, limit * theirs["PodsPerSecond"])
    compare("devices, 1,000 nodes of 8", mine, theirs, limit)


def test_devices_are_taken(report: Callable[..., None]) -> None:
    """Pods are bound, so that nodes differ by what is left of them: the oracle does not go as far."""
    whole = scenario(CLAIMS)
    snapshot = Snapshot.from_objects([*whole["objects"], *whole["pending"]])
    configuration = load(whole["config"]).configuration
    assert configuration is not None
    scheduler = Scheduler(snapshot, configuration)
    milliseconds = [measure_milliseconds(partial(scheduler.schedule_one, pod)) for pod in snapshot.pending]
    assert len(snapshot.pods.slots) == len(whole["pending"])
    report("a pod with a claim, placed and bound, 1,000 nodes", milliseconds, 3)
