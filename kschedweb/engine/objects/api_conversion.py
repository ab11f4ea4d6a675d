"""Objects in the API versions that older clusters print, read as what they became."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kschedweb.engine.objects.json_access import Json, ObjectError, get_mapping, get_objects

# The label by which the API server tells apart the two meanings of a budget's empty selector.
EMPTY_SELECTOR = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
MATCHES_NONE = {"matchExpressions": [{"key": EMPTY_SELECTOR, "operator": "Exists"}]}
MATCHES_ALL = {"matchExpressions": [{"key": EMPTY_SELECTOR, "operator": "DoesNotExist"}]}

_EXACT_REQUEST = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")
_RUNTIME = ("runtimeHandler", "overhead", "scheduling")

Convert = Callable[[Json], Json]


def upgrade_object(raw: Json) -> Json:
    """Return ``raw`` in the version that is read here, where it is of one that became it; else ``raw`` itself.

    It is what an API server that serves both versions would answer. Raises ObjectError for a former version that says
    something which the later one cannot.
    """
    kind, version = raw.get("kind"), raw.get("apiVersion")
    former = FORMER.get(kind) if isinstance(kind, str) else None
    if former is None or not isinstance(version, str) or (convert := former[1].get(version)) is None:
        return raw
    return {**convert(raw), "apiVersion": former[0]}


def _keep_object(raw: Json) -> Json:
    return raw


def _default_selector(raw: Json) -> Json:
    """A workload without a selector has the labels of its pods for one, as `SetDefaults_Deployment` says."""
    spec = get_mapping(raw, "spec")
    labels = get_mapping(get_mapping(get_mapping(spec, "template", "spec."), "metadata", "spec.template."), "labels")
    if spec.get("selector") is not None or not labels:
        return raw
    return {**raw, "spec": {**spec, "selector": {"matchLabels": labels}}}


def _convert_budget(raw: Json) -> Json:
    """An empty selector selected no pod, where today it selects all.

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
    """Resource metrics of autoscaling/v1 and v2beta1 have their target beside the name."""
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
    """In v1alpha1 what a RuntimeClass says stands under its spec, with the handler by another name."""
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
    """Return a request with what it asks for under ``exactly``, as `Convert_v1beta1_DeviceRequest_To_resource_…`."""
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
    """A selector of v1alpha3 may name classes and expressions, which the later versions dropped."""
    selector = get_mapping(get_mapping(raw, "spec"), "deviceSelector", "spec.")
    for key in ("deviceClassName", "selectors"):
        if selector.get(key):
            raise ObjectError(f"spec.deviceSelector.{key}: is of v1alpha3 alone; later versions have no such field")
    return raw


def _former_storage(*versions: str) -> tuple[str, Mapping[str, Convert]]:
    return "storage.k8s.io/v1", {f"storage.k8s.io/{version}": _keep_object for version in versions}


def _former_devices(convert: Convert) -> tuple[str, Mapping[str, Convert]]:
    return "resource.k8s.io/v1", {"resource.k8s.io/v1beta1": convert, "resource.k8s.io/v1beta2": _keep_object}


# Kind -> the version that is read, and how objects of the ones before become it.
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
}
