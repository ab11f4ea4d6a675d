"""Serializers of questions and answers about capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.capacity.buffer import Buffer
from kschedweb.engine.studies.capacity.capacity import CapacityFit
from kschedweb.engine.studies.capacity.drain import Rehearsal
from kschedweb.engine.studies.capacity.gangs import MOST_GANGS, GangFit
from kschedweb.engine.studies.capacity.sizing import Sizing
from kschedweb.engine.studies.trying.node_change import NodeChangeEffect
from kschedweb.jobs.serializers import InquirySerializer
from kschedweb.playground.capacity import selectors, sentences
from kschedweb.playground.capacity.base_serializers import (
    AnsweredSerializer,
    CapacityTargetSerializer,
    CostChangeSerializer,
    FoundSerializer,
)
from kschedweb.playground.capacity.buffer_serializers import FoundBufferSerializer, buffer_plain
from kschedweb.playground.capacity.change_serializers import FoundNodeChangeSerializer, change_to_json
from kschedweb.playground.capacity.costs import change_of
from kschedweb.playground.capacity.models import CapacityKind, Question
from kschedweb.playground.capacity.queries import (
    MOST_COPIES,
    MOST_DRAINED,
    MOST_IN_GANG,
    MOST_NODES,
    MOST_PODS,
    FitQuery,
    GangsQuery,
    query_from_json,
)

if TYPE_CHECKING:
    from kschedweb.clusters.prices.changes import CostChange
    from kschedweb.playground.capacity.answers import CapacityAnswer

# Characters of a node's name, which is a DNS subdomain.
NAME = 253
EXACT = "Whether exactly so many fit. Else at least `count` do; or at most, where `notes` name claims left out."


def _quantities_field(help_text: str) -> serializers.DictField:
    return serializers.DictField(
        child=serializers.CharField(max_length=30), required=False, default=dict, help_text=help_text
    )


class PodAskedSerializer(serializers.Serializer[Any]):
    """The pods of a question, said in one of three ways."""

    workload = serializers.CharField(
        max_length=600,
        required=False,
        default="",
        allow_blank=True,
        help_text="`namespace/Kind/name` of a workload of the snapshot, or `namespace/name` of a pod.",
    )
    manifest = serializers.CharField(
        max_length=32_000,
        required=False,
        default="",
        allow_blank=True,
        help_text="YAML or JSON of a Pod or a workload.",
    )
    requests = _quantities_field("Such as `{cpu: 500m, memory: 1Gi, nvidia.com/gpu: '1'}`.")


class FitRequestSerializer(CapacityTargetSerializer):
    pod = PodAskedSerializer()
    limit = serializers.IntegerField(min_value=1, max_value=MOST_PODS, default=FitQuery.limit, help_text="Pods.")


class ReasonSerializer(serializers.Serializer[Any]):
    plugin = serializers.CharField()
    reason = serializers.CharField(help_text="In the scheduler's words.")
    nodes = serializers.IntegerField(help_text="How many nodes this keeps closed.")
    filled = serializers.IntegerField(help_text="How many of them hold some of the pods counted here.")


class FoundFitSerializer(FoundSerializer):
    count = serializers.IntegerField(help_text="Pods that fit.")
    exact = serializers.BooleanField(help_text=EXACT)
    stopped = serializers.BooleanField(help_text="Whether it timed out, so that the result is partial.")
    message = serializers.CharField(help_text="What the scheduler says of the first pod that does not fit.")
    reasons = ReasonSerializer(many=True)
    nodes = serializers.DictField(child=serializers.IntegerField(), help_text="Pods by node, without those with none.")
    notes = serializers.ListField(child=serializers.CharField())


class FitSerializer(AnsweredSerializer, FoundFitSerializer):
    pass


class GangsRequestSerializer(CapacityTargetSerializer):
    pod = PodAskedSerializer()
    pods = serializers.IntegerField(min_value=1, max_value=MOST_IN_GANG, help_text="Pods of a gang.")
    min_count = serializers.IntegerField(
        min_value=1, max_value=MOST_IN_GANG, required=False, help_text="How many of them must start together; all."
    )
    topology_key = serializers.CharField(
        max_length=317,
        required=False,
        default="",
        allow_blank=True,
        help_text="A label of nodes whose value all pods of a gang share.",
    )
    limit = serializers.IntegerField(min_value=1, max_value=MOST_GANGS, default=GangsQuery.limit, help_text="Gangs.")


class PlacedGangSerializer(serializers.Serializer[Any]):
    domain = serializers.CharField(help_text="The value of the topology key; '' without one.")
    nodes = serializers.DictField(child=serializers.IntegerField(), help_text="Its pods by node.")


class GangDomainSerializer(serializers.Serializer[Any]):
    """The reason why the next gang does not fit a domain."""

    domain = serializers.CharField(help_text="'' for all nodes together.")
    nodes = serializers.IntegerField()
    placed = serializers.IntegerField(help_text="Pods of the gang that found a node before it was given up.")
    pod = serializers.CharField(help_text="The first pod that found none; '' where none was tried.")
    message = serializers.CharField(help_text="What the scheduler says of it.")


class FoundGangsSerializer(FoundSerializer):
    count = serializers.IntegerField(help_text="Gangs that fit.")
    exact = serializers.BooleanField(help_text=EXACT)
    stopped = serializers.BooleanField(help_text="Whether it timed out, so that the result is partial.")
    message = serializers.CharField(help_text="What the scheduler says of the first gang that does not fit.")
    domains = GangDomainSerializer(many=True, help_text="What came of it in each domain.")
    gangs = PlacedGangSerializer(many=True)
    notes = serializers.ListField(child=serializers.CharField())


class GangsSerializer(AnsweredSerializer, FoundGangsSerializer):
    pass


class NodeAskedSerializer(serializers.Serializer[Any]):
    """A type of node: like one of the snapshot, or with these amounts."""

    like = serializers.CharField(max_length=NAME, required=False, default="", allow_blank=True)
    allocatable = _quantities_field("Such as `{cpu: '32', memory: 128Gi}`; `pods` is 110 where it is not said.")
    labels = serializers.DictField(child=serializers.CharField(max_length=63, allow_blank=True), default=dict)
    zones = serializers.ListField(
        child=serializers.CharField(max_length=63), default=list, max_length=50, help_text="Taken in turn."
    )


class NodesRequestSerializer(CapacityTargetSerializer):
    node = NodeAskedSerializer()
    pending = serializers.BooleanField(default=True, help_text="Whether the pods that are pending now must fit.")
    pod = PodAskedSerializer(required=False)
    copies = serializers.IntegerField(
        min_value=0, max_value=MOST_COPIES, default=0, help_text="How many more pods like `pod` must fit."
    )
    most = serializers.IntegerField(min_value=1, max_value=MOST_NODES, default=MOST_NODES, help_text="New nodes.")


class UnfitSerializer(serializers.Serializer[Any]):
    pods = serializers.ListField(child=serializers.CharField())
    message = serializers.CharField(help_text="What the scheduler says of all nodes.")
    on_new_node = serializers.CharField(help_text="… and of a new node that holds nothing.")


class NewNodeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    zone = serializers.CharField()
    pods = serializers.IntegerField()
    daemon_pods = serializers.IntegerField()
    requested = serializers.DictField(child=serializers.FloatField(), help_text="Share of allocatable, 0 to 1.")


class FoundNodesSerializer(FoundSerializer):
    pods = serializers.IntegerField()
    fit_now = serializers.IntegerField()
    needed = serializers.IntegerField(allow_null=True, help_text="New nodes; null where `most` are not enough.")
    at_least = serializers.IntegerField(help_text="What the bare sum of requests asks for.")
    tried = serializers.DictField(child=serializers.IntegerField(), help_text="Pods that do not fit, by new nodes.")
    exceptions = serializers.ListField(
        child=serializers.IntegerField(), help_text="Larger numbers of nodes with which more pods do not fit."
    )
    unfit = UnfitSerializer(many=True, help_text="Pods that no number of such nodes helps.")
    nodes = NewNodeSerializer(many=True)
    cost = CostChangeSerializer(allow_null=True, help_text="Of the new nodes; null without a price table.")


class NodesSerializer(AnsweredSerializer, FoundNodesSerializer):
    pass


class DrainRequestSerializer(CapacityTargetSerializer):
    nodes = serializers.ListField(
        child=serializers.CharField(max_length=NAME), min_length=1, max_length=MOST_DRAINED, help_text="Names."
    )
    ignore_daemonsets = serializers.BooleanField(default=True)
    delete_emptydir_data = serializers.BooleanField(default=False)
    force = serializers.BooleanField(default=False)
    keep_order = serializers.BooleanField(default=False, help_text="Else the nodes that are easiest come first.")


class MoveSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField()
    target = serializers.CharField(help_text="Where its replacement goes; '' where nothing replaces it.")
    wave = serializers.IntegerField()
    budget = serializers.CharField(help_text="The disruption budget that it took from.")


class BlockSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField()
    kind = serializers.CharField()
    message = serializers.CharField(help_text="In the words of kubectl, the API server, or the scheduler.")


class StaysSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField()
    kind = serializers.CharField()


class NodeDrainSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    emptied = serializers.BooleanField()
    waves = serializers.IntegerField()
    moves = MoveSerializer(many=True)
    blocks = BlockSerializer(many=True)
    stays = StaysSerializer(many=True)


class FoundDrainSerializer(FoundSerializer):
    emptied = serializers.BooleanField()
    nodes = NodeDrainSerializer(many=True, help_text="In the order of the drains.")
    cost = CostChangeSerializer(allow_null=True, help_text="Without the emptied nodes; null without a price table.")


class DrainSerializer(AnsweredSerializer, FoundDrainSerializer):
    pass


class CapacityQuestionSerializer(InquirySerializer[Question]):
    """A question that a job answers; the field of its kind is there once it is answered."""

    fit = serializers.SerializerMethodField()
    nodes = serializers.SerializerMethodField()
    drain = serializers.SerializerMethodField()
    gangs = serializers.SerializerMethodField()
    buffer = serializers.SerializerMethodField()
    change = serializers.SerializerMethodField()

    class Meta:
        model = Question
        fields = (
            "id", "kind", "about", "policy", "engine", "state", "job", "error", "fit", "nodes", "drain", "gangs",
            "buffer", "change", "created_by", "created_at", "ended_at",
        )  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(FoundFitSerializer(allow_null=True))
    def get_fit(self, question: Question) -> Json | None:
        return self._answer_json(question, CapacityKind.FIT)

    @extend_schema_field(FoundNodesSerializer(allow_null=True))
    def get_nodes(self, question: Question) -> Json | None:
        return self._answer_json(question, CapacityKind.NODES)

    @extend_schema_field(FoundDrainSerializer(allow_null=True))
    def get_drain(self, question: Question) -> Json | None:
        return self._answer_json(question, CapacityKind.DRAIN)

    @extend_schema_field(FoundGangsSerializer(allow_null=True))
    def get_gangs(self, question: Question) -> Json | None:
        return self._answer_json(question, CapacityKind.GANGS)

    @extend_schema_field(FoundBufferSerializer(allow_null=True))
    def get_buffer(self, question: Question) -> Json | None:
        return self._answer_json(question, CapacityKind.BUFFER)

    @extend_schema_field(FoundNodeChangeSerializer(allow_null=True))
    def get_change(self, question: Question) -> Json | None:
        return self._answer_json(question, CapacityKind.CHANGE)

    def _answer_json(self, question: Question, kind: CapacityKind) -> Json | None:
        answer = selectors.answer_of(question) if question.kind == kind else None
        if answer is None:
            return None
        return answer_to_json(
            answer, change_of(question.snapshot, query_from_json(question.kind, question.asked), answer)
        )


def answer_to_json(answer: CapacityAnswer, cost: CostChange | None) -> Json:
    """Return the answer as REST tells it, with its costs or savings."""
    match answer:
        case CapacityFit():
            fields = _fit_to_json(answer)
        case GangFit():
            fields = _gangs_to_json(answer)
        case Buffer():
            fields = buffer_plain(answer)
        case Sizing():
            fields = _nodes_to_json(answer)
        case Rehearsal():
            fields = _drain_to_json(answer)
        case NodeChangeEffect():
            fields = change_to_json(answer)
    if isinstance(answer, Sizing | Rehearsal | NodeChangeEffect):
        fields["cost"] = None if cost is None else CostChangeSerializer(cost).data
    return {"answer": f"{sentences.answer_sentence(answer)}.", **fields}


def _gangs_to_json(answer: GangFit) -> Json:
    results = [
        {
            "domain": result.name,
            "nodes": result.nodes,
            "placed": result.placed,
            "pod": result.pod,
            "message": result.message,
        }
        for result in answer.results
    ]
    return {
        "count": answer.count,
        "exact": answer.exact,
        "stopped": answer.stopped,
        "message": answer.message,
        "domains": results,
        "gangs": [{"domain": domain, "nodes": answer.nodes_of(gang)} for gang, domain in enumerate(answer.domains)],
        "notes": list(answer.notes),
    }


def _fit_to_json(answer: CapacityFit) -> Json:
    counts = {name: count for name, count in zip(answer.names, answer.by_node.tolist(), strict=True) if count}
    reasons = [
        {"plugin": reason.plugin, "reason": reason.text, "nodes": len(reason.nodes), "filled": reason.filled}
        for reason in answer.reasons
    ]
    return {
        "count": answer.count,
        "exact": answer.exact,
        "stopped": answer.stopped,
        "message": answer.message,
        "reasons": reasons,
        "nodes": counts,
        "notes": list(answer.notes),
    }


def _nodes_to_json(answer: Sizing) -> Json:
    return {
        "pods": answer.pods,
        "fit_now": answer.fits_now,
        "needed": answer.needed,
        "at_least": answer.at_least,
        "tried": {str(added): unplaced for added, unplaced in answer.unplaced_by_nodes.items()},
        "exceptions": list(answer.exceptions),
        "unfit": [
            {"pods": list(unfit.pods), "message": unfit.message, "on_new_node": unfit.on_new} for unfit in answer.unfit
        ],
        "nodes": [
            {
                "name": use.name,
                "zone": use.zone,
                "pods": use.pods,
                "daemon_pods": use.daemons,
                "requested": dict(use.requested),
            }
            for use in answer.nodes
        ],
    }


def _drain_to_json(answer: Rehearsal) -> Json:
    nodes = [
        {
            "name": node.name,
            "emptied": node.emptied,
            "waves": node.waves,
            "moves": [
                {"pod": move.pod, "target": move.target, "wave": move.wave, "budget": move.budget}
                for move in node.moves
            ],
            "blocks": [{"pod": block.pod, "kind": block.kind, "message": block.message} for block in node.blocks],
            "stays": [{"pod": stay.pod, "kind": stay.kind} for stay in node.stays],
        }
        for node in answer.nodes
    ]
    return {"emptied": answer.emptied, "nodes": nodes}
