"""NodeAffinity filters by the pod's nodeSelector and required affinity, and scores by its preferred affinity.

The argument ``addedAffinity`` is affinity that every pod of the profile gets.
"""

from __future__ import annotations

import numpy as np

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec
from kschedweb.engine.config.types import INT32, STRING, ListType, Struct, StructField, text
from kschedweb.engine.framework.events import NODE, Action, ClusterEvent, EventHint, ObjectChange
from kschedweb.engine.framework.interface import PASSED, SKIPPED, Cycle, PluginScope, PreFilterResult, Verdicts
from kschedweb.engine.framework.scoring import default_normalize
from kschedweb.engine.framework.status import SKIP, SUCCESS, CycleError, Status, error, unresolvable
from kschedweb.engine.objects import affinity
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Ints, Mask, Rows
from kschedweb.engine.state.nodematching import matches_any, matches_required, matches_term
from kschedweb.engine.validation.affinity import preferred_problems, selector_problems
from kschedweb.engine.validation.fields import Problem, aggregate_texts, child_path

POD_AFFINITY_FACT = "the pod's own"
POD, ENFORCED = (
    unresolvable("node(s) didn't match Pod's node affinity/selector", fact=POD_AFFINITY_FACT),
    unresolvable("node(s) didn't match scheduler-enforced node affinity"),
)
CONFLICT = unresolvable("pod affinity terms conflict")


class NodeAffinity:
    name = "NodeAffinity"

    def __init__(self, args: PluginArgs) -> None:
        self.added = affinity.NodeAffinityTerms.from_json(args.get("addedAffinity") or {}, "addedAffinity.")

    def events(self) -> list[EventHint]:
        return [EventHint(ClusterEvent(NODE, Action.ADD | Action.NODE_LABEL), self._after_node)]

    def _after_node(self, pod: Pod, change: ObjectChange) -> bool:
        """Queue if the node matches now and did not before."""
        if self.added.required is not None and not _any_matches(self.added.required, change.new):
            return False
        return _required_affinity_matches(pod, change.new) and (
            change.old is None or not _required_affinity_matches(pod, change.old)
        )

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.NODE

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        required = cycle.pod.node_affinity.required
        if required is None and self.added.required is None and cycle.pod.node_selector is None:
            return SKIPPED
        if not required:
            return PASSED
        names: frozenset[str] = frozenset()
        # Only if every term names nodes can the search be narrowed to those nodes.
        for term in required:
            term_names = term.node_names()
            if term_names is None:
                return PASSED
            names |= term_names
        return PreFilterResult(nodes=names) if names else PreFilterResult(CONFLICT)

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        codes = (~matches_required(cycle.snapshot, cycle.pod)).astype(np.int32)
        if self.added.required is not None:
            # `Filter` checks the added affinity first, so its reason overwrites the pod's.
            codes[~matches_any(cycle.snapshot, self.added.required)] = 2
        return Verdicts(codes[rows], (SUCCESS, POD, ENFORCED))

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status:
        preferred = cycle.pod.node_affinity.preferred
        if preferred is None and self.added.preferred is None:
            return SKIP
        unread = cycle.pod.node_affinity.unread
        return error(aggregate_texts(unread)) if unread else SUCCESS

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return the sum of the weights of the preferred terms that match. Raises CycleError if one cannot be read.

        PreScore reports that first, unless the profile does not enable it.
        """
        # The original parses preferred terms in Score again if PreScore did not run.
        if unread := cycle.pod.node_affinity.unread:
            raise CycleError(f'running Score plugins: plugin "{self.name}" failed with: {aggregate_texts(unread)}')
        scores = np.zeros(len(cycle.snapshot), dtype=np.int64)
        for item in (*(self.added.preferred or ()), *(cycle.pod.node_affinity.preferred or ())):
            if item.has_effect:
                matched: Mask = matches_term(cycle.snapshot, item.term)
                scores[matched] += item.weight
        return scores[rows]

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        return default_normalize(scores)


def _required_affinity_matches(pod: Pod, node: Node) -> bool:
    """Return whether the pod's selector and required affinity match. Raises ValueError if a term is invalid."""
    if any(node.labels.get(key) != value for key, value in (pod.node_selector or {}).items()):
        return False
    required = pod.node_affinity.required
    if required is None or _any_matches(required, node):
        return True
    if problems := [problem for term in required for problem in term.problems]:
        raise ValueError(aggregate_texts(problems))
    return False


def _any_matches(terms: tuple[NodeSelectorTerm, ...], node: Node) -> bool:
    return any(term.matches(node.name, node.labels) for term in terms)


REQUIREMENT = Struct(
    "v1.NodeSelectorRequirement",
    "A condition on a node's label or field.",
    (
        StructField("key", STRING, "Name of the label, or metadata.name for a field.", omit_empty=False),
        StructField(
            "operator",
            text("v1.NodeSelectorOperator"),
            "How the value is compared.",
            omit_empty=False,
            enum=("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
        ),
        StructField(
            "values",
            ListType(STRING),
            "Values: some for In and NotIn, none for Exists, one whole number for Gt and Lt.",
        ),
    ),
    required=("key", "operator"),
)
NODE_SELECTOR_TERM = Struct(
    "v1.NodeSelectorTerm",
    "Conditions on a node, all of which must hold; an empty term matches no node.",
    (
        StructField("matchExpressions", ListType(REQUIREMENT), "Conditions on labels."),
        StructField(
            "matchFields", ListType(REQUIREMENT), "Conditions on fields (metadata.name, In or NotIn, one value)."
        ),
    ),
)
NODE_SELECTOR = Struct(
    "v1.NodeSelector",
    "Terms, one of which must match.",
    (
        StructField(
            "nodeSelectorTerms", ListType(NODE_SELECTOR_TERM), "Terms, one of which must match.", omit_empty=False
        ),
    ),
    required=("nodeSelectorTerms",),
)
PREFERRED_TERM = Struct(
    "v1.PreferredSchedulingTerm",
    "A preference for nodes.",
    (
        StructField("weight", INT32, "Added to the score of a matching node; 0 counts for nothing.", omit_empty=False),
        StructField("preference", NODE_SELECTOR_TERM, "Nodes that are preferred.", omit_empty=False),
    ),
    required=("weight", "preference"),
)
NODE_AFFINITY = Struct(
    "v1.NodeAffinity",
    "Affinity to nodes.",
    (
        StructField(
            "requiredDuringSchedulingIgnoredDuringExecution",
            NODE_SELECTOR,
            "Nodes must match.",
            pointer=True,
        ),
        StructField(
            "preferredDuringSchedulingIgnoredDuringExecution",
            ListType(PREFERRED_TERM),
            "Nodes that match score higher.",
        ),
    ),
)
ARGS = args_struct(
    "NodeAffinityArgs",
    "Node affinity for every pod of the profile.",
    StructField("addedAffinity", NODE_AFFINITY, "Holds for every pod, in addition to its own.", pointer=True),
)


def validate_args(args: PluginArgs, path: str) -> list[Problem]:
    added = args["addedAffinity"]
    if added is None:
        return []
    at = child_path(path, "addedAffinity")
    must, prefer = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
    problems = selector_problems(added[must], f"{at}.{must}") if added[must] is not None else []
    return problems + preferred_problems(added[prefer] or [], f"{at}.{prefer}")


SPEC = PluginSpec(
    "NodeAffinity",
    frozenset({"preFilter", "filter", "preScore", "score"}),
    "Matches the pod's node selector and node affinity, and scores its preferences.",
    ArgsSpec(ARGS, problems=validate_args),
    factory=NodeAffinity,
)
