"""A decision by the engine alone: a dump of a cluster and a policy file in, the answer in the form of REST out."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.cli.asked import content
from kschedweb.cli.exits import CommandError
from kschedweb.engine.config.specs import PluginError
from kschedweb.engine.documents.files import ReadError, cluster_objects, document, documents
from kschedweb.engine.objects.access import Json
from kschedweb.engine.releases import ReleaseError, read_gates
from kschedweb.engine.scenario.reading import ScenarioError
from kschedweb.engine.scenario.scenario import Scenario

if TYPE_CHECKING:
    from kschedweb.engine.scenario.classic import ClassicScenario

FINISHED = ("Succeeded", "Failed")
HUMP = re.compile(r"(?<!^)(?=[A-Z])")


def explained(options: argparse.Namespace, key: str, policy: bytes | None) -> dict[str, Any]:
    """The decision about the pod ``key`` of the dump; the policy may be in a ConfigMap. Raises CommandError."""
    objects, pod = _parted(options.snapshot, key)
    raw: Json = {"objects": objects, "pending": [_unbound(pod)]}
    try:
        scenario = _scenario(options, raw) if policy is None else _scenario_of_policy(options, raw, policy)
        with np.errstate(over="ignore"):  # amounts wrap around without a word, as they do in kube-scheduler
            answer = scenario.explain()["pods"][0]
    except ReadError as error:
        raise CommandError(f"--policy {options.policy}: {error}") from None
    except (PluginError, ReleaseError, ScenarioError) as error:
        raise CommandError(str(error).removeprefix(": ")) from None
    told = {HUMP.sub("_", name).lower(): value for name, value in answer.items()}
    other = told.pop("handled_by", "")
    scheduler = other or (pod.get("spec") or {}).get("schedulerName") or "default-scheduler"
    told["status"] = "handled_elsewhere" if other else "decided"
    if not other and (held := _held_by_gates(scenario)) is not None:
        told["pre_enqueue"] = held
    told["scheduler"] = {"name": scheduler, "answered_by": "unknown" if other else "policy"}
    bound_to = (pod.get("spec") or {}).get("nodeName") or ""
    return {"engine": scenario.engine, "bound_to": bound_to, "warnings": list(scenario.remarks), **told}


def _scenario(options: argparse.Namespace, raw: Json, config: Any = None) -> Scenario:
    """Raises PluginError, ReleaseError, ScenarioError."""
    gates = read_gates(options.feature_gates)
    return Scenario.of({**raw, "config": config, "release": options.release, "featureGates": gates})


def _scenario_of_policy(options: argparse.Namespace, raw: Json, policy: bytes) -> Scenario | ClassicScenario:
    """Raises CommandError, ReadError, and what ``_scenario`` raises."""
    from kschedweb.engine.documents.configmaps import ConfigMapError, unpack_config_map
    from kschedweb.engine.releases.classic.policy import is_policy_text
    from kschedweb.engine.scenario.classic import ClassicScenario

    try:
        policy = unpack_config_map(policy.decode()).encode()
    except UnicodeDecodeError:
        pass  # whoever reads it says what is wrong
    except ConfigMapError as error:
        raise CommandError(f"--policy {options.policy}: {error}") from None
    if not is_policy_text(policy):
        return _scenario(options, raw, document(policy))
    classic = {"version": options.release} if options.release else {}
    return ClassicScenario.of({**raw, "classic": classic or True, "policy": document(policy)}, {})


def _held_by_gates(scenario: Scenario | ClassicScenario) -> Json | None:
    """What keeps the pod out of the scheduling queue, as kube-scheduler says it; the classic one has no gates."""
    (pod,) = scenario.pending
    if not isinstance(scenario, Scenario) or not pod.gates:
        return None
    status = scenario.scheduler(None).framework(pod).pre_enqueue(pod, scenario.snapshot.objects)
    return None if status.ok else status.to_dict()


def _parted(file: str, key: str) -> tuple[list[Json], Json]:
    """(all that stands on nodes and all that is no pod, the pod). Raises CommandError."""
    try:
        listed = cluster_objects(documents(content(file)))
    except ReadError as error:
        raise CommandError(f"--snapshot {file}: {error}") from None
    objects, found = [], None
    for raw in listed:
        if raw.get("kind") != "Pod":
            objects.append(raw)
        elif _key(raw) == key:
            found = raw
        elif (raw.get("spec") or {}).get("nodeName") and (raw.get("status") or {}).get("phase") not in FINISHED:
            objects.append(raw)
    if found is None:
        raise CommandError(f"--snapshot {file}: holds no pod {key}{_elsewhere(listed, key)}")
    return objects, found


def _elsewhere(listed: list[Json], key: str) -> str:
    """Where else there is a pod of that name, "" for nowhere."""
    name = key.partition("/")[2]
    keys = sorted({_key(raw) for raw in listed if raw.get("kind") == "Pod" and _key(raw).partition("/")[2] == name})
    return f"; there is {', '.join(keys[:4])}" if keys else ""


def _key(raw: Json) -> str:
    metadata = raw.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"


def _unbound(pod: Json) -> Json:
    return {**pod, "spec": {key: value for key, value in (pod.get("spec") or {}).items() if key != "nodeName"}}
