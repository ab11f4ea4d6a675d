"""The types of a DeschedulerPolicy, descheduler/v1alpha2."""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.engine.config.types import BOOL, INT64, RAW, STRING, ListType, Struct, StructField
from kschedweb.engine.documents.json_schema import DIALECT, Schemas
from kschedweb.engine.json_types import Json
from kschedweb.engine.rebalancing.arguments import STRINGS, UINT

GROUP, KIND = "descheduler", "DeschedulerPolicy"
API_VERSION = f"{GROUP}/v1alpha2"
# Extension points: the name in a policy -> the descheduler's own name.
POINTS = {
    "presort": "PreSort",
    "sort": "Sort",
    "deschedule": "Deschedule",
    "balance": "Balance",
    "filter": "Filter",
    "preevictionfilter": "PreEvictionFilter",
}
KUBERNETES_METRICS, PROMETHEUS = "KubernetesMetrics", "Prometheus"

_PLUGIN_SET = Struct(
    "v1alpha2.PluginSet",
    "The plugins at one extension point.",
    (
        StructField("enabled", STRINGS, "Those that run, in this order."),
        StructField("disabled", STRINGS, "Has no effect."),
    ),
)
_PLUGIN_CONFIG = Struct(
    "v1alpha2.PluginConfig",
    "A plugin with its arguments.",
    (StructField("name", STRING, "The plugin."), StructField("args", RAW, "Its arguments.")),
)
_PROFILE = Struct(
    "v1alpha2.DeschedulerProfile",
    "Plugins that share a DefaultEvictor.",
    (
        StructField("name", STRING, "The name of the profile."),
        StructField("pluginConfig", ListType(_PLUGIN_CONFIG), "The arguments of each plugin."),
        StructField(
            "plugins",
            Struct(
                "v1alpha2.Plugins", "The plugins that run.", tuple(StructField(point, _PLUGIN_SET) for point in POINTS)
            ),
            "The plugins that run, by extension point.",
        ),
    ),
)
_SECRET = Struct(
    "v1alpha2.SecretReference",
    "A Secret.",
    (StructField("namespace", STRING, "Its namespace."), StructField("name", STRING, "Its name.")),
)
_TOKEN = Struct(
    "v1alpha2.AuthToken", "A token.", (StructField("secretReference", _SECRET, "Where it is.", pointer=True),)
)
_PROMETHEUS = Struct(
    "v1alpha2.Prometheus",
    "A Prometheus.",
    (StructField("url", STRING, "Its address."), StructField("authToken", _TOKEN, "The token it wants.", pointer=True)),
)
_PROVIDER = Struct(
    "v1alpha2.MetricsProvider",
    "Where real use comes from.",
    (
        StructField("source", STRING, f"{KUBERNETES_METRICS} or {PROMETHEUS}."),
        StructField("prometheus", _PROMETHEUS, "Which Prometheus.", pointer=True),
    ),
)
_COLLECTOR = Struct(
    "v1alpha2.MetricsCollector",
    "The older way to ask for metrics.",
    (StructField("enabled", BOOL, "Whether to collect."),),
)
# Fields with the limits of a cycle: for a node, a namespace and in total.
LIMITS = ("maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace", "maxNoOfPodsToEvictTotal")
POLICY = Struct(
    f"v1alpha2.{KIND}",
    "What the descheduler does in each cycle.",
    (
        StructField("kind", STRING, f"Always {KIND}."),
        StructField("apiVersion", STRING, f"Always {API_VERSION}."),
        StructField("profiles", ListType(_PROFILE), "Sets of plugins, one after the other."),
        StructField("nodeSelector", STRING, "Only nodes with these labels, as in kubectl -l.", pointer=True),
        *(StructField(name, UINT, "Most evictions in one cycle.", pointer=True) for name in LIMITS),
        StructField("evictionFailureEventNotification", BOOL, "Events for refused evictions.", pointer=True),
        StructField("metricsCollector", _COLLECTOR, "The older way to ask for metrics.", pointer=True),
        StructField("metricsProviders", ListType(_PROVIDER), "Where real use comes from."),
        StructField("gracePeriodSeconds", INT64, "In place of the pods' own grace period.", pointer=True),
    ),
)


def json_schema(args: Mapping[str, Struct]) -> Json:
    """Return the JSON Schema of a policy; ``args`` are the types of each plugin's arguments by name."""
    schemas = Schemas()
    schema = {"$schema": DIALECT, "title": KIND, **schemas.struct_schema(POLICY)}
    profile = schema["properties"]["profiles"]["items"]["properties"]
    config = profile["pluginConfig"]["items"]
    config["properties"]["name"]["enum"] = list(args)
    config["allOf"] = [
        {
            "if": {"properties": {"name": {"const": name}}},
            "then": {"properties": {"args": schemas.struct_schema(args_type)}},
        }
        for name, args_type in args.items()
    ]
    return schema
