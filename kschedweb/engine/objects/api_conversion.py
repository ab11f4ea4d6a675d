"""Conversion of objects in API versions that older clusters print."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping, get_objects

# The label by which the API server tells the two meanings of a budget's empty selector apart.
EMPTY_SELECTOR = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
MATCHES_NONE = {"matchExpressions": [{"key": EMPTY_SELECTOR, "operator": "Exists"}]}
MATCHES_ALL = {"matchExpressions": [{"key": EMPTY_SELECTOR, "operator": "DoesNotExist"}]}

# Fields of a request that v1 has under `exactly`.
_EXACT_REQUEST = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")
# Fields of a v1alpha1 RuntimeClass that stand under its spec.
_RUNTIME = ("runtimeHandler", "overhead", "scheduling")

Convert = Callable[[Json], Json]


def upgrade_object(raw: Json) -> Json:
    """Return ``raw`` in the version that is read here if it is of an older one, else ``raw`` itself.

    The result is the answer of an API server that serves both versions. Raise ObjectError for an older version with
    fields that the later one lacks.
    """
    kind, version = raw.get("kind"), raw.get("apiVersion")
    former = FORMER.get(kind) if isinstance(kind, str) else None
    if former is None or not isinstance(version, str) or (convert := former[1].get(version)) is None:
        return raw
    return {**convert(raw), "apiVersion": former[0]}


def _keep_object(raw: Json) -> Json:
    return raw


def _default_selector(raw: Json) -> Json:
    """Give a workload without a selector the labels of its pods, as `SetDefaults_Deployment` does."""
    spec = get_mapping(raw, "spec")
    labels = get_mapping(get_mapping(get_mapping(spec, "template", "spec."), "metadata", "spec.template."), "labels")
    if spec.get("selector") is not None or not labels:
        return raw
    return {**raw, "spec": {**spec, "selector": {"matchLabels": labels}}}


def _convert_budget(raw: Json) -> Json:
    """Convert a budget of v1beta1, where an empty selector selects no pod; today it selects all.

    As `Convert_v1beta1_PodDisruptionBudget_To_policy_PodDisruptionBudget` does.
    """
    spec = get_mapping(raw, "spec")
    selector = spec.get("selector")
    if not isinstance(selector, dict):
        return raw
    if not any(selector.values()):
        selector = MATCHES_NONE
    elif selector == MATCHES_ALL:
        selector = {}
    return {**raw, "spec": {**spec, "selector": selector}}


def _convert_autoscaler(raw: Json) -> Json:
    """Convert resource metrics of autoscaling/v1 and v2beta1, which have their target beside the name."""
    spec = dict(get_mapping(raw, "spec"))
    metrics = [_convert_metric(metric) for metric in get_objects(spec, "metrics", "spec.")]
    utilization = spec.pop("targetCPUUtilizationPercentage", None)
    if utilization is not None:
        metrics.append(_resource_metric("cpu", {"type": "Utilization", "averageUtilization": utilization}))
    return {**raw, "spec": {**spec, **({"metrics": metrics} if metrics else {})}}


def _convert_metric(metric: Json) -> Json:
    source = get_mapping(metric, "resource")
    if source.get("target") is not None or metric.get("type") != "Resource":
        return metric
    if (utilization := source.get("targetAverageUtilization")) is not None:
        return _resource_metric(source.get("name"), {"type": "Utilization", "averageUtilization": utilization})
    target = {"type": "AverageValue", "averageValue": source.get("targetAverageValue")}
    return _resource_metric(source.get("name"), target)


def _resource_metric(name: object, target: Json) -> Json:
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def _convert_runtime_class(raw: Json) -> Json:
    """Convert a RuntimeClass of v1alpha1, which has its fields under spec and another name for the handler."""
    spec = get_mapping(raw, "spec")
    fields = {key: spec[key] for key in _RUNTIME if spec.get(key) is not None}
    if "runtimeHandler" in fields:
        fields["handler"] = fields.pop("runtimeHandler")
    return {**{key: value for key, value in raw.items() if key != "spec"}, **fields}


def _convert_claim(raw: Json) -> Json:
    return {**raw, "spec": _claim_spec(get_mapping(raw, "spec"), "spec.")}


def _convert_claim_template(raw: Json) -> Json:
    spec = get_mapping(raw, "spec")
    return {**raw, "spec": {**spec, "spec": _claim_spec(get_mapping(spec, "spec", "spec."), "spec.spec.")}}


def _claim_spec(spec: Json, path: str) -> Json:
    devices = get_mapping(spec, "devices", path)
    requests = [_exact_request(request) for request in get_objects(devices, "requests", f"{path}devices.")]
    return {**spec, "devices": {**devices, "requests": requests}} if requests else spec


def _exact_request(request: Json) -> Json:
    """Return a request with its fields under ``exactly``, as `Convert_v1beta1_DeviceRequest_To_resource_…` does."""
    exactly = {key: request[key] for key in _EXACT_REQUEST if request.get(key) is not None}
    if not exactly:
        return request
    return {**{key: value for key, value in request.items() if key not in _EXACT_REQUEST}, "exactly": exactly}


def _convert_slice(raw: Json) -> Json:
    spec = get_mapping(raw, "spec")
    devices = [_plain_device(device) for device in get_objects(spec, "devices", "spec.")]
    return {**raw, "spec": {**spec, "devices": devices}} if devices else raw


def _plain_device(device: Json) -> Json:
    basic = get_mapping(device, "basic", "spec.devices.")
    return {**{key: value for key, value in device.items() if key != "basic"}, **basic}


def _convert_taint_rule(raw: Json) -> Json:
    """Refuse a selector of v1alpha3 with classes or expressions, which later versions do not have."""
    selector = get_mapping(get_mapping(raw, "spec"), "deviceSelector", "spec.")
    for key in ("deviceClassName", "selectors"):
        if selector.get(key):
            raise ObjectError(f"spec.deviceSelector.{key}: is of v1alpha3 alone; later versions have no such field")
    return raw


def _former_storage(*versions: str) -> tuple[str, Mapping[str, Convert]]:
    return "storage.k8s.io/v1", {f"storage.k8s.io/{version}": _keep_object for version in versions}


def _former_devices(convert: Convert) -> tuple[str, Mapping[str, Convert]]:
    return "resource.k8s.io/v1", {"resource.k8s.io/v1beta1": convert, "resource.k8s.io/v1beta2": _keep_object}


_QUEUE_KINDS = (
    "AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Topology", "Workload",
    "WorkloadPriorityClass",
)  # fmt: skip

# Kind -> (the version that is read, conversion by older version).
FORMER: Mapping[str, tuple[str, Mapping[str, Convert]]] = {
    "Deployment": (
        "apps/v1",
        {"extensions/v1beta1": _default_selector, "apps/v1beta1": _default_selector, "apps/v1beta2": _keep_object},
    ),
    "DaemonSet": ("apps/v1", {"extensions/v1beta1": _default_selector, "apps/v1beta2": _keep_object}),
    "ReplicaSet": ("apps/v1", {"extensions/v1beta1": _default_selector, "apps/v1beta2": _keep_object}),
    "StatefulSet": ("apps/v1", {"apps/v1beta1": _default_selector, "apps/v1beta2": _keep_object}),
    "PodDisruptionBudget": ("policy/v1", {"policy/v1beta1": _convert_budget}),
    "HorizontalPodAutoscaler": (
        "autoscaling/v2",
        {
            "autoscaling/v1": _convert_autoscaler,
            "autoscaling/v2beta1": _convert_autoscaler,
            "autoscaling/v2beta2": _keep_object,
        },
    ),
    "PriorityClass": (
        "scheduling.k8s.io/v1",
        {"scheduling.k8s.io/v1alpha1": _keep_object, "scheduling.k8s.io/v1beta1": _keep_object},
    ),
    "RuntimeClass": (
        "node.k8s.io/v1",
        {"node.k8s.io/v1alpha1": _convert_runtime_class, "node.k8s.io/v1beta1": _keep_object},
    ),
    "StorageClass": _former_storage("v1beta1"),
    "CSINode": _former_storage("v1beta1"),
    "CSIDriver": _former_storage("v1beta1"),
    "CSIStorageCapacity": _former_storage("v1alpha1", "v1beta1"),
    "VolumeAttachment": _former_storage("v1alpha1", "v1beta1"),
    "ResourceClaim": _former_devices(_convert_claim),
    "ResourceClaimTemplate": _former_devices(_convert_claim_template),
    "ResourceSlice": _former_devices(_convert_slice),
    "DeviceClass": _former_devices(_keep_object),
    "DeviceTaintRule": (
        "resource.k8s.io/v1",
        {"resource.k8s.io/v1alpha3": _convert_taint_rule, "resource.k8s.io/v1beta2": _keep_object},
    ),
    # Their readers know the fields of both versions.
    **dict.fromkeys(_QUEUE_KINDS, ("kueue.x-k8s.io/v1beta2", {"kueue.x-k8s.io/v1beta1": _keep_object})),
}
