"""Serializers of questions and answers about the buffer of a cluster."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.capacity.buffer import LOWEST_PRIORITY, Buffer
from kschedweb.playground.capacity.base_serializers import AnsweredSerializer, CapacityTargetSerializer, FoundSerializer
from kschedweb.playground.capacity.queries import MOST_NODES


class BufferRequestSerializer(CapacityTargetSerializer):
    zones = serializers.BooleanField(default=True, help_text="Whether each zone is lost, one at a time.")
    largest = serializers.IntegerField(
        min_value=0, max_value=MOST_NODES, default=0, help_text="How many of the largest nodes are lost together."
    )
    priority = serializers.IntegerField(
        min_value=LOWEST_PRIORITY,
        max_value=-LOWEST_PRIORITY - 1,
        allow_null=True,
        default=None,
        help_text="Pods count from this priority on; all without it.",
    )


class StrandedSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField()
    priority = serializers.IntegerField()
    message = serializers.CharField(help_text="What the scheduler says.")


class LossSerializer(serializers.Serializer[Any]):
    """The consequences of one loss."""

    kind = serializers.ChoiceField(["zone", "nodes"])
    name = serializers.CharField(help_text="The zone; '' for the largest nodes.")
    nodes = serializers.ListField(child=serializers.CharField(), help_text="The nodes that are lost.")
    survived = serializers.BooleanField()
    pods = serializers.IntegerField(help_text="Pods that have to be placed anew.")
    placed = serializers.IntegerField()
    lower = serializers.IntegerField(help_text="Pods on the lost nodes that do not count.")
    bare = serializers.IntegerField(help_text="Pods there that count and that no controller makes anew.")
    evicted = serializers.IntegerField(help_text="Pods of less priority that make room on other nodes.")
    stranded = StrandedSerializer(many=True, help_text="Pods without a node; at most 1,000.")


class FoundBufferSerializer(FoundSerializer):
    survives = serializers.BooleanField(help_text="Whether all pods that count are placed again after each loss.")
    unzoned = serializers.IntegerField(help_text="Nodes without a zone.")
    losses = LossSerializer(many=True)


class BufferSerializer(AnsweredSerializer, FoundBufferSerializer):
    pass


def buffer_plain(answer: Buffer) -> Json:
    losses = [{**asdict(loss), "survived": loss.survived} for loss in answer.losses]
    return {"survives": answer.survives, "unzoned": answer.unzoned, "losses": losses}
