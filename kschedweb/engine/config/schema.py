"""The tables of KubeSchedulerConfiguration v1: every field with its type, default, range and help."""

from __future__ import annotations

from functools import cached_property

from kschedweb.engine.config.types import (
    BOOL,
    BYTES,
    DURATION,
    FLOAT32,
    INT32,
    INT64,
    RAW,
    STRING,
    ListType,
    Struct,
    StructField,
)
from kschedweb.engine.values import dataclass

GROUP = "kubescheduler.config.k8s.io"
VERSION = "v1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER = "default-scheduler"

# The extension points that a pod goes through, in that order.
EXTENSION_POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)

# Extension points for pod groups, in releases that have them. Plugins run there only if feature gates are on.
GROUP_POINTS = ("placementGenerate", "placementScore", "placementFeasible", "podGroupPostFilter")

POINT_HELP = {
    "preEnqueue": "Called before a pod enters the queue; every plugin must agree.",
    "queueSort": "Orders the queue. Exactly one plugin, the same in every profile.",
    "preFilter": "Called once for a pod before filtering; may reject it or narrow the nodes.",
    "filter": "Called for each node; the first rejection decides for that node.",
    "postFilter": "Called when no node is left, to make room (preemption).",
    "preScore": "Called once for a pod before scoring, with the nodes that passed.",
    "score": "Gives each node 0 to 100, multiplied by the plugin's weight and added up.",
    "reserve": "Holds what the pod needs on the chosen node until it is bound.",
    "permit": "Lets a pod be bound, refuses it, or makes it wait.",
    "preBind": "Prepares the node for the pod, for example by provisioning its volumes.",
    "bind": "Binds the pod; the first plugin that handles it ends the point. At least one is needed.",
    "postBind": "Called after the pod is bound.",
    "multiPoint": "Plugins for every extension point that they implement: the defaults live here.",
    "placementGenerate": "Proposes sets of nodes for a pod group (feature gate TopologyAwareWorkloadScheduling).",
    "placementScore": "Ranks sets of nodes for a pod group (feature gate TopologyAwareWorkloadScheduling).",
    "placementFeasible": "Says whether the pods with a node are enough for their group (feature gate GenericWorkload).",
    "podGroupPostFilter": "Called when a pod group finds no place, to make room (feature gate GenericWorkload).",
}

PLUGIN = Struct(
    "v1.Plugin",
    "A plugin by name.",
    (
        StructField("name", STRING, "The plugin's name.", omit_empty=False),
        StructField(
            "weight",
            INT32,
            "Factor of the plugin's score, counted at score and multiPoint only; 0 or absent counts as 1.",
            pointer=True,
            default=1,
        ),
    ),
    required=("name",),
)

PLUGIN_SET = Struct(
    "v1.PluginSet",
    "Changes to the plugins of one extension point.",
    (
        StructField(
            "enabled", ListType(PLUGIN), "Plugins to add, in order; naming a default one replaces its weight in place."
        ),
        StructField("disabled", ListType(PLUGIN), 'Default plugins to take out; a single "*" takes out all of them.'),
    ),
)

PLUGIN_CONFIG = Struct(
    "v1.PluginConfig",
    "Arguments of one plugin.",
    (
        StructField(
            "name", STRING, "The plugin that takes these arguments; each plugin once a profile.", omit_empty=False
        ),
        StructField("args", RAW, "The plugin's arguments; what is left out takes its default."),
    ),
    required=("name",),
)

PERCENTAGE_HELP = (
    "Share of the nodes, in percent, after which the search for feasible nodes stops (never before 100 nodes). "
    "0 adapts to the cluster: 50 % at 100 nodes, falling to 5 %."
)

PLACEMENT_PERCENTAGE = "percentageOfPlacementsToScore"
PLACEMENT_PERCENTAGE_HELP = (
    "Share of the placements of a pod group, in percent, after which the search for feasible ones stops. "
    "0 adapts: 100 % for few nodes, falling to 5 % (feature gate TopologyAwareWorkloadScheduling)."
)

LEADER_ELECTION = Struct(
    "v1alpha1.LeaderElectionConfiguration",
    "How replicas of kube-scheduler agree on the one that schedules.",
    (
        StructField(
            "leaderElect",
            BOOL,
            "Whether a replica must lead before it schedules.",
            pointer=True,
            omit_empty=False,
            default=True,
        ),
        StructField(
            "leaseDuration",
            DURATION,
            "How long others wait for a silent leader; longer than renewDeadline.",
            default="15s",
        ),
        StructField("renewDeadline", DURATION, "How long a leader tries to renew before it gives up.", default="10s"),
        StructField("retryPeriod", DURATION, "Pause between two tries.", default="2s"),
        StructField(
            "resourceLock",
            STRING,
            "Kind of the lock object.",
            omit_empty=False,
            default="leases",
            enum=("leases",),
        ),
        StructField("resourceName", STRING, "Name of the lock object.", omit_empty=False, default="kube-scheduler"),
        StructField(
            "resourceNamespace", STRING, "Namespace of the lock object.", omit_empty=False, default="kube-system"
        ),
    ),
)

CLIENT_CONNECTION = Struct(
    "v1alpha1.ClientConnectionConfiguration",
    "How kube-scheduler talks to the API server.",
    (
        StructField(
            "kubeconfig", STRING, "Path of a kubeconfig on kube-scheduler's machine.", omit_empty=False, default=""
        ),
        StructField("acceptContentTypes", STRING, "Accept header of its requests.", omit_empty=False, default=""),
        StructField(
            "contentType",
            STRING,
            "Content type of its requests.",
            omit_empty=False,
            default="application/vnd.kubernetes.protobuf",
        ),
        StructField("qps", FLOAT32, "Requests a second.", omit_empty=False, default=50),
        StructField("burst", INT32, "Requests in one burst.", omit_empty=False, default=100, minimum=0),
    ),
)

EXTENDER_TLS = Struct(
    "v1.ExtenderTLSConfig",
    "TLS towards the extender.",
    (
        StructField(
            "insecure", BOOL, "Skip the check of the extender's certificate; not together with a CA.", default=False
        ),
        StructField("serverName", STRING, "Name to expect in the extender's certificate."),
        StructField("certFile", STRING, "Path of the client certificate on kube-scheduler's machine."),
        StructField("keyFile", STRING, "Path of the client key on kube-scheduler's machine."),
        StructField("caFile", STRING, "Path of the trusted root certificates on kube-scheduler's machine."),
        StructField("certData", BYTES, "Client certificate, PEM in base64; wins over certFile."),
        StructField("keyData", BYTES, "Client key, PEM in base64; wins over keyFile."),
        StructField("caData", BYTES, "Trusted root certificates, PEM in base64; win over caFile."),
    ),
)

MANAGED_RESOURCE = Struct(
    "v1.ExtenderManagedResource",
    "An extended resource that the extender manages.",
    (
        StructField("name", STRING, "Name of the extended resource, as example.com/gpu.", omit_empty=False),
        StructField(
            "ignoredByScheduler",
            BOOL,
            "Leave the resource to the extender: NodeResourcesFit then ignores it, instead of its ignoredResources.",
            default=False,
        ),
    ),
    required=("name",),
)

EXTENDER = Struct(
    "v1.Extender",
    "An HTTP service asked while scheduling. A verb left out is not called.",
    (
        StructField("urlPrefix", STRING, "Address that the verbs are appended to.", omit_empty=False),
        StructField("filterVerb", STRING, "Path of the filter call."),
        StructField("preemptVerb", STRING, "Path of the preemption call."),
        StructField("prioritizeVerb", STRING, "Path of the scoring call."),
        StructField("weight", INT64, "Factor of the extender's scores; at least 1 where prioritizeVerb is set."),
        StructField("bindVerb", STRING, "Path of the bind call; at most one extender may bind."),
        StructField("enableHTTPS", BOOL, "Speak HTTPS.", default=False),
        StructField("tlsConfig", EXTENDER_TLS, "TLS towards the extender.", pointer=True),
        StructField("httpTimeout", DURATION, "Longest wait for an answer; 0 counts as 5 s.", default="5s"),
        StructField("nodeCacheCapable", BOOL, "The extender knows the nodes: send names only.", default=False),
        StructField(
            "managedResources",
            ListType(MANAGED_RESOURCE),
            "Send only pods that ask for one of these; every pod where the list is empty.",
        ),
        StructField("ignorable", BOOL, "Continue without the extender when it fails.", default=False),
    ),
    required=("urlPrefix",),
)


@dataclass(frozen=True)
class Schema:
    """The tables of a document."""

    # Extension points for groups of pods that the document may name.
    group_points: tuple[str, ...]
    # Extension points at which a plugin of old is not refused by its name.
    points_without_removal_check: tuple[str, ...] = ("placementGenerate", "placementScore")
    # Extension points whose plugins get no default arguments if they are enabled there alone.
    points_without_default_args: tuple[str, ...] = ("podGroupPostFilter",)
    # The document has percentageOfPlacementsToScore.
    placement_percentage: bool = False

    @property
    def plugin_sets(self) -> tuple[str, ...]:
        """The keys of ``plugins`` in a document."""
        return (*EXTENSION_POINTS, "multiPoint", *self.group_points)

    @cached_property
    def plugins(self) -> Struct:
        return Struct(
            "v1.Plugins",
            "Plugins turned on and off, by extension point.",
            tuple(StructField(point, PLUGIN_SET, POINT_HELP[point], omit_empty=False) for point in self.plugin_sets),
        )

    @cached_property
    def profile(self) -> Struct:
        return _profile_struct(self.plugins, self.placement_percentage)

    @cached_property
    def configuration(self) -> Struct:
        return _configuration_struct(self.profile, self.placement_percentage)


def _placement_percentage_field(help_text: str) -> StructField:
    return StructField(PLACEMENT_PERCENTAGE, INT32, help_text, pointer=True, minimum=0, maximum=100)


def _profile_struct(plugins: Struct, placement_percentage: bool) -> Struct:
    overriding = _placement_percentage_field(PLACEMENT_PERCENTAGE_HELP + " Overrides the value for all profiles.")
    return Struct(
        "v1.KubeSchedulerProfile",
        "A policy for the pods whose spec.schedulerName is the profile's.",
        (
            StructField(
                "schedulerName",
                STRING,
                "Pods that name this scheduler follow this profile. May be left out where there is a single profile.",
                pointer=True,
                default=DEFAULT_SCHEDULER,
            ),
            StructField(
                "percentageOfNodesToScore",
                INT32,
                PERCENTAGE_HELP + " Overrides the value for all profiles.",
                pointer=True,
                minimum=0,
                maximum=100,
            ),
            *((overriding,) if placement_percentage else ()),
            StructField(
                "plugins",
                plugins,
                "Plugins turned on and off; without it the default plugins run.",
                pointer=True,
            ),
            StructField("pluginConfig", ListType(PLUGIN_CONFIG), "Arguments for plugins."),
        ),
    )


def _configuration_struct(profile: Struct, placement_percentage: bool) -> Struct:
    general = _placement_percentage_field(PLACEMENT_PERCENTAGE_HELP)
    return Struct(
        "v1.KubeSchedulerConfiguration",
        "Configuration of kube-scheduler.",
        (
            StructField("kind", STRING, f"Always {KIND}.", enum=(KIND,)),
            StructField("apiVersion", STRING, f"Always {API_VERSION}.", enum=(API_VERSION,)),
            StructField(
                "parallelism",
                INT32,
                "How many nodes are checked in parallel.",
                pointer=True,
                default=16,
                minimum=1,
            ),
            StructField("leaderElection", LEADER_ELECTION, "How replicas agree on a leader.", omit_empty=False),
            StructField("clientConnection", CLIENT_CONNECTION, "How the API server is reached.", omit_empty=False),
            StructField(
                "enableProfiling",
                BOOL,
                "Serve profiles under /debug/pprof/.",
                pointer=True,
                default=True,
                embedded="DebuggingConfiguration",
            ),
            StructField(
                "enableContentionProfiling",
                BOOL,
                "Profile lock contention; needs enableProfiling.",
                pointer=True,
                default=True,
                embedded="DebuggingConfiguration",
            ),
            StructField(
                "percentageOfNodesToScore",
                INT32,
                PERCENTAGE_HELP,
                pointer=True,
                default=0,
                minimum=0,
                maximum=100,
            ),
            *((general,) if placement_percentage else ()),
            StructField(
                "podInitialBackoffSeconds",
                INT64,
                "Wait after a pod's first failure; doubled each time.",
                pointer=True,
                default=1,
                minimum=1,
            ),
            StructField(
                "podMaxBackoffSeconds",
                INT64,
                "Longest wait after failures; at least podInitialBackoffSeconds.",
                pointer=True,
                default=10,
                minimum=1,
            ),
            StructField(
                "profiles",
                ListType(profile),
                "One policy a scheduler name; an empty list counts as one default profile.",
            ),
            StructField("extenders", ListType(EXTENDER), "HTTP services asked while scheduling, for all profiles."),
            StructField(
                "delayCacheUntilActive",
                BOOL,
                "Fill the caches only when leading: less memory, slower takeover.",
                default=False,
            ),
        ),
        required=("apiVersion", "kind"),
    )
