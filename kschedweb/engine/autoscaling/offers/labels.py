"""The label keys that Karpenter and its kwok provider know."""

from __future__ import annotations

from kschedweb.engine.objects.node import BETA_REGION, BETA_ZONE, HOSTNAME, REGION, ZONE

GROUP, KWOK_GROUP = "karpenter.sh", "karpenter.kwok.sh"
NODEPOOL, CAPACITY_TYPE = f"{GROUP}/nodepool", f"{GROUP}/capacity-type"
REGISTERED, INITIALIZED = f"{GROUP}/registered", f"{GROUP}/initialized"
DO_NOT_DISRUPT, DISRUPTION_COST = f"{GROUP}/do-not-disrupt", f"{GROUP}/disruption-cost"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
RESERVATION = f"{KWOK_GROUP}/reservation-id"
FAMILY, SIZE = f"{KWOK_GROUP}/instance-family", f"{KWOK_GROUP}/instance-size"
INSTANCE_CPU, INSTANCE_MEMORY = f"{KWOK_GROUP}/instance-cpu", f"{KWOK_GROUP}/instance-memory"
# Of a NodePool that names none: the class of Karpenter's kwok provider.
NODE_CLASS_KIND = "KWOKNodeClass"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ARCH, OS, WINDOWS_BUILD = "kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/windows-build"
ON_DEMAND, SPOT, RESERVED = "on-demand", "spot", "reserved"
CAPACITY_TYPES = (ON_DEMAND, RESERVED, SPOT)

# Known without any instance type; the labels of instance types come on top.
WELL_KNOWN = frozenset(
    {
        *(NODEPOOL, ZONE, REGION, INSTANCE_TYPE, ARCH, OS, CAPACITY_TYPE, WINDOWS_BUILD),
        *(SIZE, FAMILY, INSTANCE_CPU, INSTANCE_MEMORY, RESERVATION),
    }
)

RESTRICTED_DOMAINS = (KWOK_GROUP, GROUP)
RESTRICTED = frozenset({HOSTNAME})
# Deprecated keys that Karpenter replaces in requirements.
NORMALIZED = {
    BETA_ZONE: ZONE,
    BETA_REGION: REGION,
    "beta.kubernetes.io/arch": ARCH,
    "beta.kubernetes.io/os": OS,
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
}
# Assumed of new nodes, so that daemons that select them are counted.
SIMULATED = (REGISTERED, INITIALIZED)


def node_class_label(group: str, kind: str) -> str:
    """Return the key of the label that names a node's class, as Karpenter's `NodeClassLabelKey` makes it."""
    return f"{group}/{kind.lower()}"


def find_restriction(key: str, well_known_labels: frozenset[str]) -> str:
    """Return why Karpenter refuses the label ``key``, in its words; "" if it does not."""
    if key in well_known_labels:
        return ""
    domain = key.split("/", 1)[0] if "/" in key else ""
    reserved = any(
        domain == restricted_domain or domain.endswith(f".{restricted_domain}")
        for restricted_domain in RESTRICTED_DOMAINS
    )
    if not reserved and key not in RESTRICTED:
        return ""
    return (
        f"using label {key} is not allowed as it might interfere with the internal provisioning logic;"
        f" specify a well known label: {format_list(sorted(well_known_labels))},"
        f" or a custom label that does not use a restricted domain: {format_list(sorted(RESTRICTED_DOMAINS))}"
    )


def format_list(values: list[str] | tuple[str, ...]) -> str:
    """Format a list as Go prints it."""
    return f"[{' '.join(values)}]"
