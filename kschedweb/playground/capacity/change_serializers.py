"""Serializers of questions and answers about nodes that are lost or added."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.trying.node_change import NodeChangeEffect
from kschedweb.engine.studies.trying.policy_effect import GAINED, LOST, MOVED
from kschedweb.playground.capacity.base_serializers import (
    AnsweredSerializer,
    CapacityTargetSerializer,
    CostChangeSerializer,
    FoundSerializer,
)
from kschedweb.playground.capacity.queries import MOST_ADDED, MOST_DRAINED

NAME = 253
# Fields of the answer that count pods, with the kind that they count.
COUNTED = {"moved": MOVED, "stranded": LOST, "gained": GAINED}


class NodeChangeRequestSerializer(CapacityTargetSerializer):
    lost = serializers.ListField(
        child=serializers.CharField(max_length=NAME), max_length=MOST_DRAINED, default=list, help_text="Names of nodes."
    )
    added = serializers.IntegerField(min_value=0, max_value=MOST_ADDED, default=0, help_text="Number of new nodes.")
    like = serializers.CharField(
        max_length=NAME, default="", allow_blank=True, help_text="The node that new ones are copies of."
    )
    zones = serializers.ListField(
        child=serializers.CharField(max_length=NAME),
        max_length=100,
        default=list,
        help_text="New nodes go to these in turn; without them to the zone of that node.",
    )


class ReplacedPodSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField()
    before = serializers.CharField(help_text="Its node; '' for none.")
    after = serializers.CharField(help_text="Its node; '' for none.")
    message = serializers.CharField(help_text="What the scheduler says if the pod ends without a node.")


class NodeLoadSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    zone = serializers.CharField(help_text="'' for none.")
    before = serializers.FloatField(allow_null=True, help_text="Requested CPU in percent; null for a missing node.")
    after = serializers.FloatField(allow_null=True, help_text="Requested CPU in percent; null for a missing node.")


class FoundNodeChangeSerializer(FoundSerializer):
    lost = serializers.ListField(child=serializers.CharField(), help_text="Nodes.")
    added = serializers.ListField(child=serializers.CharField(), help_text="Nodes.")
    moved = serializers.IntegerField(help_text="Pods that get another node.")
    stranded = serializers.IntegerField(help_text="Pods that lose their node and find no other.")
    gained = serializers.IntegerField(help_text="Pending pods that get a node.")
    pending_before = serializers.IntegerField()
    pending_after = serializers.IntegerField()
    unreplaced = serializers.ListField(
        child=serializers.CharField(), help_text="Pods on lost nodes that no controller replaces."
    )
    pods = ReplacedPodSerializer(many=True, help_text="Pods whose nodes change.")
    nodes = NodeLoadSerializer(many=True)
    cost = CostChangeSerializer(allow_null=True, help_text="Of an hour; null without a price table.")


class NodeChangeSerializer(AnsweredSerializer, FoundNodeChangeSerializer):
    pass


def change_to_json(answer: NodeChangeEffect) -> Json:
    return {**asdict(answer), **{name: answer.count(kind) for name, kind in COUNTED.items()}}
