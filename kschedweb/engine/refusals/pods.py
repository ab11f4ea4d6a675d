"""The API server's refusals of a pod, in its words, as far as they concern scheduling.

Images, commands, environment, probes, security and the contents of volumes are not checked, nor are refusals of
admission before it: missing classes, and fields that disagree with them.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kschedweb.engine.refusals.affinity import affinity_problems, spread_problems, toleration_problems
from kschedweb.engine.refusals.field_value import FieldValue
from kschedweb.engine.refusals.labels import (
    dns_label_problems,
    key_problems,
    label_problems,
    subdomain_problems,
)
from kschedweb.engine.refusals.pod_level_resources import pod_level_problems
from kschedweb.engine.refusals.resources import container_problems
from kschedweb.engine.validation.fields import Problem, Typed, duplicate, forbidden, invalid, required, unsupported

# Fields of the spec that pods of one controller have in common.
SHARED = (
    *("resourceClaims", "resources", "restartPolicy", "nodeSelector", "affinity", "schedulingGates"),
    *("topologySpreadConstraints", "tolerations", "hostNetwork", "overhead"),
)
# The end of both matchLabelKeys and mismatchLabelKeys.
LABEL_KEYS = b"atchLabelKeys"
# Fields of a container that are checked.
OF_CONTAINERS = ("name", "ports", "resources", "restartPolicy")
PROTOCOLS = ("SCTP", "TCP", "UDP")
RESTART = ("Always", "OnFailure", "Never")
PORTS = "must be between 1 and 65535, inclusive"


def pod_problems(spec: FieldValue) -> Iterator[Problem]:
    """Yield the problems of the fields that differ from pod to pod."""
    yield from _own_problems(spec)
    if spec["nodeName"].text and spec["schedulingGates"].items:
        yield forbidden(spec.path_to("nodeName"), "cannot be set until all schedulingGates have been cleared")


def shared_problems(spec: FieldValue, labels: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the problems of the fields that pods of one controller share; ``labels`` are the pod's."""
    return _shared_problems(spec, labels, template=False)


def shared_content(spec: Any, labels: Mapping[str, str]) -> bytes:
    """Return the bytes on which ``shared_problems`` depend. Raises ValueError for a value that is not JSON."""
    listed = (
        [_pick_fields(container, OF_CONTAINERS) for container in _get_list(spec, name)]
        for name in ("containers", "initContainers")
    )
    content = marshal.dumps((_pick_fields(spec, SHARED), *listed), 2)
    # Label keys are the only place where a pod's own labels come in. Without them, pods with other labels share the
    # result.
    return content + marshal.dumps(dict(labels), 2) if LABEL_KEYS in content else content


def _pick_fields(value: Any, names: Sequence[str]) -> list[Any] | None:
    return [value.get(name) for name in names] if isinstance(value, dict) else None


def _get_list(value: Any, name: str) -> list[Any]:
    listed = value.get(name) if isinstance(value, dict) else None
    return listed if isinstance(listed, list) else []


def template_problems(spec: FieldValue) -> Iterator[Problem]:
    """Yield the problems of the ``spec`` of a pod template, where no defaults are filled in yet."""
    yield from _own_problems(spec)
    yield from _shared_problems(spec, {}, template=True)


def _own_problems(spec: FieldValue) -> Iterator[Problem]:
    yield from _volume_problems(spec["volumes"])
    yield from subdomain_problems(spec["nodeName"])


def _shared_problems(spec: FieldValue, labels: Mapping[str, str], *, template: bool) -> Iterator[Problem]:
    yield from _claim_problems(spec["resourceClaims"])
    yield from _container_problems(spec, template=template)
    yield from pod_level_problems(spec, template=template)
    yield from _choice_problems(spec["restartPolicy"], RESTART)
    yield from label_problems(spec["nodeSelector"])
    yield from affinity_problems(spec["affinity"], labels)
    yield from _gate_problems(spec["schedulingGates"])
    yield from spread_problems(spec["topologySpreadConstraints"], labels)
    yield from toleration_problems(spec["tolerations"])


def _choice_problems(field: FieldValue, allowed: tuple[str, ...]) -> Iterator[Problem]:
    if field.text and field.text not in allowed:
        yield unsupported(field.path, Typed(field.text), allowed)


def _gate_problems(gates: FieldValue) -> Iterator[Problem]:
    seen_names: set[str] = set()
    for gate in gates.items:
        name = gate["name"].text
        yield from key_problems(gate.path, name)
        if name in seen_names:
            yield duplicate(gate.path, name)
        seen_names.add(name)


def _volume_problems(volumes: FieldValue) -> Iterator[Problem]:
    seen_names: set[str] = set()
    for volume in volumes.items:
        problems = list(_named_problems(volume["name"]))
        claim = volume["persistentVolumeClaim"]
        if claim.is_given and not claim["claimName"].text:
            problems.append(required(claim.path_to("claimName")))
        if volume["name"].text in seen_names:
            problems.append(duplicate(volume.path_to("name"), volume["name"].text))
        # As `ValidateVolumes`: only the name of a valid volume counts as taken.
        if not problems:
            seen_names.add(volume["name"].text)
        yield from problems


def _claim_problems(claims: FieldValue) -> Iterator[Problem]:
    seen_names: set[str] = set()
    for claim in claims.items:
        name = claim["name"].text
        if name in seen_names:
            yield duplicate(claim.path_to("name"), name)
        else:
            yield from _named_problems(claim["name"])
        seen_names.add(name)
        for field in ("resourceClaimName", "resourceClaimTemplateName"):
            yield from subdomain_problems(claim[field])


def _named_problems(name: FieldValue) -> Iterator[Problem]:
    """Yield the problems of a required name without dots."""
    if not name.text:
        yield required(name.path)
    yield from dns_label_problems(name)


def _container_problems(spec: FieldValue, *, template: bool) -> Iterator[Problem]:
    containers, inits = spec["containers"], spec["initContainers"]
    network = spec["hostNetwork"].value is True
    on_host = network and not template  # ports of the host are then those of the container
    if not containers.items:
        yield required(containers.path)
    names: set[str] = set()
    for container in (*containers.items, *inits.items):
        yield from _named_problems(container["name"])
        if container["name"].text in names:
            yield duplicate(container.path_to("name"), container["name"].text)
        names.add(container["name"].text)
        yield from _port_problems(container["ports"], on_host=on_host)
        yield from container_problems(container["resources"], complete=not template)
        yield from _choice_problems(container["restartPolicy"], ("Always", "Never", "OnFailure"))
        yield from _reference_problems(container["resources"]["claims"], spec["resourceClaims"])
    yield from _taken_twice(containers.items, containers, on_host=on_host)
    for init in inits.items:
        yield from _taken_twice([init], inits, on_host=on_host)
    for port in (port for container in containers.items for port in container["ports"].items if network):
        host, inside = port["hostPort"].number, port["containerPort"].number
        if host and host != inside:
            yield invalid(port.path_to("hostPort"), host, "must match `containerPort` when `hostNetwork` is true")


def _port_problems(ports: FieldValue, *, on_host: bool) -> Iterator[Problem]:
    names: set[str] = set()
    for port in ports.items:
        name, number = port["name"].text, port["containerPort"].number
        host = port["hostPort"].number or (number if on_host else 0)
        if name:
            wrong = list(_port_name_complaints(name))
            yield from (invalid(port.path_to("name"), name, complaint) for complaint in wrong)
            if not wrong and name in names:
                yield duplicate(port.path_to("name"), name)
            names.add(name)
        if not number:
            yield required(port.path_to("containerPort"))
        elif not 1 <= number <= 65535:
            yield invalid(port.path_to("containerPort"), number, PORTS)
        if host and not 1 <= host <= 65535:
            yield invalid(port.path_to("hostPort"), host, PORTS)
        yield from _choice_problems(port["protocol"], PROTOCOLS)


def _port_name_complaints(name: str) -> Iterator[str]:
    if len(name.encode()) > 15:
        yield "must be no more than 15 characters"
    if not re.fullmatch(r"[-a-z0-9]+", name, re.ASCII):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not re.search(r"[a-z]", name):
        yield "must contain at least one letter (a-z)"
    if "--" in name:
        yield "must not contain consecutive hyphens"
    if name.startswith("-") or name.endswith("-"):
        yield "must not begin or end with a hyphen"


def _taken_twice(containers: list[FieldValue], listed: FieldValue, *, on_host: bool) -> Iterator[Problem]:
    """Yield host ports that two ports use, among the containers that the API server checks together."""
    seen_ports: set[str] = set()
    for at, container in enumerate(containers):
        for number, port in enumerate(container["ports"].items):
            host_port = port["hostPort"].number or (on_host and port["containerPort"].number)
            if not host_port:
                continue
            port_key = f"{port['protocol'].text or 'TCP'}/{port['hostIP'].text}/{host_port}"
            if port_key in seen_ports:
                yield duplicate(f"{listed.path}[{at}].ports[{number}].hostPort", port_key)
            seen_ports.add(port_key)


def _reference_problems(claims: FieldValue, pod_claims: FieldValue) -> Iterator[Problem]:
    """Yield the claims of a container that the pod does not have."""
    names = sorted({claim["name"].text for claim in pod_claims.items if claim["name"].text})
    for claim in claims.items:
        if not (name := claim["name"].text):
            yield required(claim.path)
        elif name not in names:
            listed_names = f": {', '.join(names)}" if names else " which is empty"
            message = f"must be one of the names in pod.spec.resourceClaims{listed_names}"
            yield Problem(claim.path, f'{claim.path}: Not found: "{name}": {message}')
