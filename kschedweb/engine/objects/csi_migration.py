"""In-tree volumes whose plugin was replaced by a CSI driver: their handles and topology with the driver."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_objects, get_string
from kschedweb.engine.objects.node import BETA_REGION, BETA_ZONE, REGION, ZONE
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm, parse_term
from kschedweb.engine.values import dataclass

# Between the zones of a regional volume in its zone label.
ZONE_DELIMITER = "__"
# Part of a GCE handle that is not known.
UNSPECIFIED = "UNSPECIFIED"
MANAGED = "managed"
_EBS_ID = re.compile(r"vol-[^/]*")


@dataclass(frozen=True, slots=True)
class Migration:
    """An in-tree plugin and the CSI driver that replaces it."""

    plugin: str
    driver: str
    # The field of the source that names the volume.
    identity: str
    # The driver's zone label; "" if it has none.
    topology: str = ""


MIGRATIONS = {
    "awsElasticBlockStore": Migration(
        "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "volumeID", "topology.ebs.csi.aws.com/zone"
    ),
    "gcePersistentDisk": Migration("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "pdName", "topology.gke.io/zone"),
    "azureDisk": Migration("kubernetes.io/azure-disk", "disk.csi.azure.com", "diskURI"),
    "cinder": Migration(
        "kubernetes.io/cinder", "cinder.csi.openstack.org", "volumeID", "topology.cinder.csi.openstack.org/zone"
    ),
    "portworxVolume": Migration("kubernetes.io/portworx-volume", "pxd.portworx.com", "volumeID"),
}
DRIVERS = {migration.plugin: migration.driver for migration in MIGRATIONS.values()}
# These plugins have a CSI driver too, but the scheduler does not count their volumes.
UNCOUNTED_PLUGINS = frozenset({"kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"})


class MigrationError(ValueError):
    """A CSI driver cannot take over a volume; the text is Kubernetes' own."""


@dataclass(frozen=True, slots=True, eq=False)
class InTreeVolume:
    """A volume of an in-tree plugin that has a CSI driver."""

    migration: Migration
    # Its name with the driver.
    handle: str
    # The reason if the driver cannot take it over, else empty.
    error: str
    # The nodes that can reach a PersistentVolume with the driver; None for all.
    affinity: tuple[NodeSelectorTerm, ...] | None = None

    @classmethod
    def of_pod_volume(cls, volume: Json, path: str) -> InTreeVolume | None:
        """Return the in-tree source of a pod's volume, whose fields are under ``path``, if it has one."""
        field_and_source = _find_source(volume, path)
        if field_and_source is None:
            return None
        field, source = field_and_source
        # The API server's default.
        if field == "azureDisk" and source.get("kind") is None:
            source = {**source, "kind": "Shared"}
        return cls._from_source(field, source, path, None)

    @classmethod
    def of_persistent_volume(cls, spec: Json, labels: Mapping[str, str]) -> InTreeVolume | None:
        """Return the in-tree source in a PersistentVolume's ``spec``, if it has one."""
        field_and_source = _find_source(spec, "spec.")
        if field_and_source is None:
            return None
        return cls._from_source(
            *field_and_source,
            "spec.",
            labels,
            _translate_affinity(spec, labels, MIGRATIONS[field_and_source[0]].topology),
        )

    @classmethod
    def _from_source(
        cls,
        field: str,
        source: Json,
        path: str,
        labels: Mapping[str, str] | None,
        affinity: tuple[NodeSelectorTerm, ...] | None = None,
    ) -> InTreeVolume:
        migration, at = MIGRATIONS[field], f"{path}{field}."
        identity = get_string(source, migration.identity, at)
        if field == "azureDisk":
            get_string(source, "kind", at)
        try:
            return cls(migration, _make_handle(field, identity, source, labels), "", affinity)
        except MigrationError as error:
            return cls(migration, "", str(error), affinity)


def _find_source(raw: Json, path: str) -> tuple[str, Json] | None:
    for field in MIGRATIONS:
        if raw.get(field) is not None:
            return field, get_mapping(raw, field, path)
    return None


def _make_handle(field: str, identity: str, source: Json, labels: Mapping[str, str] | None) -> str:
    """Return the driver's name for a volume.

    ``labels`` are those of its PersistentVolume, ``None`` for a volume in a pod.
    """
    if field == "awsElasticBlockStore":
        return _ebs_handle(identity)
    if field == "gcePersistentDisk":
        return f"projects/{UNSPECIFIED}/{_gce_location(labels or {})}/disks/{identity}"
    if field == "azureDisk" and source.get("kind") is not None and get_string(source, "kind").lower() != MANAGED:
        raise MigrationError(f"kind({get_string(source, 'kind')}) is not supported in csi migration")
    return identity


def _ebs_handle(identity: str) -> str:
    """Return the volume id in an ``aws://`` URL; raise MigrationError with Kubernetes' words."""
    if not identity.startswith("aws://"):
        return identity
    try:
        handle = unquote(urlsplit(identity).path).strip("/")
    except ValueError as error:
        raise MigrationError(
            f"failed to translate Kubernetes ID to EBS Volume ID Invalid disk name ({identity}): {error}"
        ) from None
    if not _EBS_ID.fullmatch(handle):
        raise MigrationError(
            f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({identity})"
        )
    return handle


def _gce_location(labels: Mapping[str, str]) -> str:
    """Return the zone, or the region of several zones, of a disk; raise MigrationError."""
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(ZONE_DELIMITER)
    if len(zones) == 1:
        return f"zones/{zones[0] or UNSPECIFIED}"
    regions = set()
    for zone in zones:
        locale, *parts = zone.split("-")
        if len(parts) != 2:
            raise MigrationError(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add(f"{locale}-{parts[0]}")
    if len(regions) != 1:
        listed = " ".join(f"{region}:{{}}" for region in sorted(regions))
        raise MigrationError(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: map[{listed}]"
        )
    return f"regions/{regions.pop()}"


def _translate_affinity(spec: Json, labels: Mapping[str, str], topology: str) -> tuple[NodeSelectorTerm, ...] | None:
    """Return the node affinity of a PersistentVolume, with its zones under the driver's zone label.

    Zones in the affinity count; the volume's labels count only if it names none.
    """
    affinity = get_mapping(spec, "nodeAffinity", "spec.")
    required = get_mapping(affinity, "required", "spec.nodeAffinity.")
    raw = get_objects(required, "nodeSelectorTerms", "spec.nodeAffinity.required.")
    restricted = affinity.get("required") is not None
    if topology:
        zone, region = _topology_labels(raw, labels)
        if _has_values(raw, zone):
            raw = _rename_key(raw, zone, topology)
        elif zones := sorted({part.strip() for part in labels.get(zone, "").split(ZONE_DELIMITER)} - {""}):
            raw = [_add_expression(item, {"key": topology, "operator": "In", "values": zones}) for item in raw or [{}]]
            restricted = True
        if region == BETA_REGION and _has_values(raw, region):
            raw = _rename_key(raw, region, REGION)
    path = "spec.nodeAffinity.required.nodeSelectorTerms"
    return tuple(parse_term(item, f"{path}[{number}].") for number, item in enumerate(raw)) if restricted else None


def _topology_labels(raw: list[Json], labels: Mapping[str, str]) -> tuple[str, str]:
    """Return the zone and region labels of the generation that a volume uses."""
    keys = {expression.get("key") for item in raw for expression in get_objects(item, "matchExpressions")}
    for names in (keys, labels):
        if ZONE in names:
            return ZONE, REGION
        if BETA_ZONE in names:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _has_values(raw: list[Json], key: str) -> bool:
    """Return True if a condition on ``key`` has values."""
    return any(
        expression.get("key") == key and expression.get("values")
        for item in raw
        for expression in get_objects(item, "matchExpressions")
    )


def _rename_key(raw: list[Json], old: str, new: str) -> list[Json]:
    return [
        item
        | {
            "matchExpressions": [
                expression | {"key": new} if expression.get("key") == old else expression
                for expression in get_objects(item, "matchExpressions")
            ]
        }
        for item in raw
    ]


def _add_expression(item: Json, expression: Json) -> Json:
    return item | {"matchExpressions": [*get_objects(item, "matchExpressions"), expression]}
