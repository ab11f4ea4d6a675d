"""Decide with the engine alone: a dump of a cluster and a policy file in, an answer in REST's form out."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.cli.exits import CommandError
from kschedweb.cli.session import read_file
from kschedweb.engine.config.specs import PluginError
from kschedweb.engine.documents.files import ReadError, cluster_objects, read_document, read_documents
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import ReleaseError, read_gates
from kschedweb.engine.scenario.reading import ScenarioError
from kschedweb.engine.scenario.scenario import Scenario

if TYPE_CHECKING:
    from kschedweb.engine.scenario.classic import ClassicScenario

FINISHED = ("Succeeded", "Failed")
# The place before each capital letter, for names in snake case.
HUMP = re.compile(r"(?<!^)(?=[A-Z])")


def explain_from_files(options: argparse.Namespace, key: str, policy: bytes | None) -> Json:
    """Return the decision about the pod ``key`` of the dump. The policy may be in a ConfigMap. Raise CommandError."""
    objects, pod = _split_dump(options.snapshot, key)
    raw: Json = {"objects": objects, "pending": [_unbind_pod(pod)]}
    try:
        scenario = _read_scenario(options, raw) if policy is None else _scenario_of_policy(options, raw, policy)
        # Amounts wrap around silently, as int64 does in kube-scheduler.
        with np.errstate(over="ignore"):
            answer = scenario.explain()["pods"][0]
    except ReadError as error:
        raise CommandError(f"--policy {options.policy}: {error}") from None
    except (PluginError, ReleaseError, ScenarioError) as error:
        raise CommandError(str(error).removeprefix(": ")) from None
    decision = {HUMP.sub("_", name).lower(): value for name, value in answer.items()}
    other = decision.pop("handled_by", "")
    scheduler = other or (pod.get("spec") or {}).get("schedulerName") or "default-scheduler"
    decision["status"] = "handled_elsewhere" if other else "decided"
    if not other and (gate_status := _held_by_gates(scenario)) is not None:
        decision["pre_enqueue"] = gate_status
    decision["scheduler"] = {"name": scheduler, "answered_by": "unknown" if other else "policy"}
    bound_to = (pod.get("spec") or {}).get("nodeName") or ""
    return {"engine": scenario.engine, "bound_to": bound_to, "warnings": list(scenario.remarks), **decision}


def _read_scenario(options: argparse.Namespace, raw: Json, config: Any = None) -> Scenario:
    """Return the scenario of a profile. Raise PluginError, ReleaseError, ScenarioError."""
    gates = read_gates(options.feature_gates)
    return Scenario.from_json({**raw, "config": config, "release": options.release, "featureGates": gates})


def _scenario_of_policy(options: argparse.Namespace, raw: Json, policy: bytes) -> Scenario | ClassicScenario:
    """Return the scenario of a policy file. Raise CommandError, ReadError, and as ``_read_scenario``."""
    from kschedweb.engine.documents.configmaps import ConfigMapError, unpack_config_map
    from kschedweb.engine.releases.classic.policy import is_policy_text
    from kschedweb.engine.scenario.classic import ClassicScenario

    try:
        policy = unpack_config_map(policy.decode()).encode()
    except UnicodeDecodeError:
        # The reader below reports what is wrong with it.
        pass
    except ConfigMapError as error:
        raise CommandError(f"--policy {options.policy}: {error}") from None
    if not is_policy_text(policy):
        return _read_scenario(options, raw, read_document(policy))
    classic = {"version": options.release} if options.release else {}
    return ClassicScenario.from_json({**raw, "classic": classic or True, "policy": read_document(policy)}, {})


def _held_by_gates(scenario: Scenario | ClassicScenario) -> Json | None:
    """Return the status that keeps the pod out of the queue, if any; the classic scheduler has no gates."""
    (pod,) = scenario.pending
    if not isinstance(scenario, Scenario) or not pod.gates:
        return None
    status = scenario.create_scheduler(None).framework(pod).pre_enqueue(pod, scenario.snapshot.objects)
    return None if status.ok else status.to_dict()


def _split_dump(file: str, key: str) -> tuple[list[Json], Json]:
    """Return (bound pods and all other objects, the pod). Raise CommandError."""
    try:
        listed = cluster_objects(read_documents(read_file(file)))
    except ReadError as error:
        raise CommandError(f"--snapshot {file}: {error}") from None
    objects, pod = [], None
    for raw in listed:
        if raw.get("kind") != "Pod":
            objects.append(raw)
        elif _pod_key(raw) == key:
            pod = raw
        elif (raw.get("spec") or {}).get("nodeName") and (raw.get("status") or {}).get("phase") not in FINISHED:
            objects.append(raw)
    if pod is None:
        raise CommandError(f"--snapshot {file}: holds no pod {key}{_describe_alternatives(listed, key)}")
    return objects, pod


def _describe_alternatives(listed: list[Json], key: str) -> str:
    """Return where else there is a pod of that name, "" for nowhere."""
    name = key.partition("/")[2]
    keys = sorted(
        {_pod_key(raw) for raw in listed if raw.get("kind") == "Pod" and _pod_key(raw).partition("/")[2] == name}
    )
    return f"; there is {', '.join(keys[:4])}" if keys else ""


def _pod_key(raw: Json) -> str:
    metadata = raw.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"


def _unbind_pod(pod: Json) -> Json:
    return {**pod, "spec": {key: value for key, value in (pod.get("spec") or {}).items() if key != "nodeName"}}
