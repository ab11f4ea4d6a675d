"""The tables of the in-tree plugins' arguments (``<Plugin>Args`` of kubescheduler.config.k8s.io/v1)."""

from __future__ import annotations

from kschedweb.engine.config.schema import API_VERSION
from kschedweb.engine.config.types import BOOL, DURATION, INT32, INT64, STRING, Field, ListOf, MapOf, Scalar, Struct


def args_struct(kind: str, help: str, *fields: Field) -> Struct:
    """Return the table of an args kind: ``fields`` with the leading ``kind`` and ``apiVersion``."""
    return Struct(
        f"v1.{kind}",
        help,
        (
            Field("kind", STRING, "May be left out: it follows from the plugin's name.", enum=(kind,)),
            Field("apiVersion", STRING, "May be left out.", enum=(API_VERSION,)),
            *fields,
        ),
    )


LABEL_SELECTOR_REQUIREMENT = Struct(
    "v1.LabelSelectorRequirement",
    "A condition on a label.",
    (
        Field("key", STRING, "Name of the label.", omit_empty=False),
        Field(
            "operator",
            Scalar("string", "v1.LabelSelectorOperator"),
            "How the label is compared.",
            omit_empty=False,
            enum=("In", "NotIn", "Exists", "DoesNotExist"),
        ),
        Field("values", ListOf(STRING), "Values to compare with."),
    ),
    required=("key", "operator"),
)

LABEL_SELECTOR = Struct(
    "v1.LabelSelector",
    "Conditions on labels, all of which must hold.",
    (
        Field("matchLabels", MapOf(STRING), "Labels with exactly these values."),
        Field("matchExpressions", ListOf(LABEL_SELECTOR_REQUIREMENT), "Further conditions."),
    ),
)

REQUIREMENT = Struct(
    "v1.NodeSelectorRequirement",
    "A condition on a node's label or field.",
    (
        Field("key", STRING, "Name of the label, or metadata.name for a field.", omit_empty=False),
        Field(
            "operator",
            Scalar("string", "v1.NodeSelectorOperator"),
            "How the value is compared.",
            omit_empty=False,
            enum=("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
        ),
        Field(
            "values", ListOf(STRING), "Values: some for In and NotIn, none for Exists, one whole number for Gt and Lt."
        ),
    ),
    required=("key", "operator"),
)

NODE_SELECTOR_TERM = Struct(
    "v1.NodeSelectorTerm",
    "Conditions on a node, all of which must hold; an empty term matches no node.",
    (
        Field("matchExpressions", ListOf(REQUIREMENT), "Conditions on labels."),
        Field("matchFields", ListOf(REQUIREMENT), "Conditions on fields (metadata.name, In or NotIn, one value)."),
    ),
)

NODE_SELECTOR = Struct(
    "v1.NodeSelector",
    "Terms, one of which must match.",
    (Field("nodeSelectorTerms", ListOf(NODE_SELECTOR_TERM), "Terms, one of which must match.", omit_empty=False),),
    required=("nodeSelectorTerms",),
)

PREFERRED_TERM = Struct(
    "v1.PreferredSchedulingTerm",
    "A preference for nodes.",
    (
        Field("weight", INT32, "Added to the score of a matching node; 0 counts for nothing.", omit_empty=False),
        Field("preference", NODE_SELECTOR_TERM, "Nodes that are preferred.", omit_empty=False),
    ),
    required=("weight", "preference"),
)

NODE_AFFINITY = Struct(
    "v1.NodeAffinity",
    "Affinity to nodes.",
    (
        Field(
            "requiredDuringSchedulingIgnoredDuringExecution",
            NODE_SELECTOR,
            "Nodes must match.",
            pointer=True,
        ),
        Field(
            "preferredDuringSchedulingIgnoredDuringExecution",
            ListOf(PREFERRED_TERM),
            "Nodes that match score higher.",
        ),
    ),
)

_POLICY = Scalar("string", "v1.NodeInclusionPolicy")
SPREAD_CONSTRAINT = Struct(
    "v1.TopologySpreadConstraint",
    "How pods are spread over the values of a node label.",
    (
        Field("maxSkew", INT32, "Largest difference allowed between two domains.", omit_empty=False, minimum=1),
        Field("topologyKey", STRING, "Node label whose values are the domains.", omit_empty=False),
        Field(
            "whenUnsatisfiable",
            Scalar("string", "v1.UnsatisfiableConstraintAction"),
            "Refuse the node, or only score it lower.",
            omit_empty=False,
            enum=("DoNotSchedule", "ScheduleAnyway"),
        ),
        Field(
            "labelSelector", LABEL_SELECTOR, "Must be left out here: it is taken from the pod's owner.", pointer=True
        ),
        Field("minDomains", INT32, "Fewest domains that must exist, at least 1.", pointer=True),
        Field(
            "nodeAffinityPolicy",
            _POLICY,
            "Whether only nodes that the pod's affinity allows count.",
            pointer=True,
            enum=("Honor", "Ignore"),
        ),
        Field(
            "nodeTaintsPolicy",
            _POLICY,
            "Whether only nodes whose taints the pod tolerates count.",
            pointer=True,
            enum=("Honor", "Ignore"),
        ),
        Field("matchLabelKeys", ListOf(STRING), "Pod labels whose values are added to the selector."),
    ),
    required=("maxSkew", "topologyKey", "whenUnsatisfiable"),
)

RESOURCE = Struct(
    "v1.ResourceSpec",
    "A resource and its weight.",
    (
        Field("name", STRING, "Name of the resource, as cpu, memory or example.com/gpu.", omit_empty=False),
        Field("weight", INT64, "Share of the resource in the score; 0 counts as 1.", default=1, minimum=0, maximum=100),
    ),
    required=("name",),
)

SHAPE_POINT = Struct(
    "v1.UtilizationShapePoint",
    "A point of the scoring function.",
    (
        Field("utilization", INT32, "Use of the node in percent.", omit_empty=False, minimum=0, maximum=100),
        Field("score", INT32, "Score there.", omit_empty=False, minimum=0, maximum=10),
    ),
    required=("utilization", "score"),
)

RATIO = Struct(
    "v1.RequestedToCapacityRatioParam",
    "The scoring function by use.",
    (Field("shape", ListOf(SHAPE_POINT), "Points by increasing use; the score between them is interpolated."),),
)

SCORING_STRATEGY = Struct(
    "v1.ScoringStrategy",
    "How the use of a node becomes a score.",
    (
        Field(
            "type",
            Scalar("string", "v1.ScoringStrategyType"),
            "LeastAllocated spreads, MostAllocated packs, RequestedToCapacityRatio follows a function of the use. "
            "LeastAllocated where scoringStrategy is left out; needed where it is given.",
            enum=("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"),
        ),
        Field("resources", ListOf(RESOURCE), "Resources that count; cpu and memory with weight 1 where empty."),
        Field(
            "requestedToCapacityRatio",
            RATIO,
            "Needed for RequestedToCapacityRatio, not allowed with another type.",
            pointer=True,
        ),
    ),
)

DEFAULT_PREEMPTION = args_struct(
    "DefaultPreemptionArgs",
    "Which nodes preemption tries out.",
    Field(
        "minCandidateNodesPercentage",
        INT32,
        "Least share of the nodes to try, in percent.",
        pointer=True,
        default=10,
        minimum=0,
        maximum=100,
    ),
    Field(
        "minCandidateNodesAbsolute",
        INT32,
        "Least number of nodes to try; not 0 together with the percentage.",
        pointer=True,
        default=100,
        minimum=0,
    ),
)
DYNAMIC_RESOURCES = args_struct(
    "DynamicResourcesArgs",
    "Time limits of dynamic resource allocation.",
    Field(
        "filterTimeout",
        DURATION,
        "Longest time to look for devices on one node; 0s for no limit.",
        pointer=True,
        omit_empty=False,
        default="10s",
    ),
    Field(
        "bindingTimeout",
        DURATION,
        "Longest wait for devices to become ready; at least 1s.",
        pointer=True,
        default="10m0s",
    ),
)
INTER_POD_AFFINITY = args_struct(
    "InterPodAffinityArgs",
    "How affinity of other pods counts.",
    Field(
        "hardPodAffinityWeight",
        INT32,
        "Score for each required affinity of a running pod that matches the new one.",
        pointer=True,
        default=1,
        minimum=0,
        maximum=100,
    ),
    Field(
        "ignorePreferredTermsOfExistingPods",
        BOOL,
        "Leave out preferences of running pods unless the new pod has some itself.",
        omit_empty=False,
        default=False,
    ),
)
NODE_AFFINITY_ARGS = args_struct(
    "NodeAffinityArgs",
    "Node affinity for every pod of the profile.",
    Field("addedAffinity", NODE_AFFINITY, "Holds for every pod, in addition to its own.", pointer=True),
)
BALANCED_ALLOCATION = args_struct(
    "NodeResourcesBalancedAllocationArgs",
    "Resources whose use should be balanced.",
    Field(
        "resources",
        ListOf(RESOURCE),
        "Resources to balance, each once, weight always 1; cpu and memory where empty.",
    ),
)
FIT = args_struct(
    "NodeResourcesFitArgs",
    "Which resources must fit, and how their use is scored.",
    Field(
        "ignoredResources",
        ListOf(STRING),
        "Extended resources that need not fit (scoring still sees them).",
        examples=(["example.com/gpu"],),
    ),
    Field(
        "ignoredResourceGroups",
        ListOf(STRING),
        "Prefixes of extended resources that need not fit, as example.com.",
        examples=(["example.com"],),
    ),
    Field("scoringStrategy", SCORING_STRATEGY, "How the use of a node becomes a score.", pointer=True),
)
POD_TOPOLOGY_SPREAD = args_struct(
    "PodTopologySpreadArgs",
    "Spreading for pods that ask for none themselves.",
    Field("defaultConstraints", ListOf(SPREAD_CONSTRAINT), "Constraints to use; defaultingType must be List."),
    Field(
        "defaultingType",
        Scalar("string", "v1.PodTopologySpreadConstraintsDefaulting"),
        "System spreads over hosts and zones as Kubernetes does, List uses defaultConstraints.",
        default="System",
        enum=("System", "List"),
    ),
)
VOLUME_BINDING = args_struct(
    "VolumeBindingArgs",
    "Waiting for volumes.",
    Field(
        "bindTimeoutSeconds",
        INT64,
        "Longest wait for volumes to be bound; 0 for no waiting.",
        pointer=True,
        default=600,
        minimum=0,
    ),
    Field("shape", ListOf(SHAPE_POINT), "Only with the feature gate StorageCapacityScoring, which is off by default."),
)
