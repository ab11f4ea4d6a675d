"""Serializers that all questions and answers about capacity have in common."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class CapacityTargetSerializer(serializers.Serializer[Any]):
    """The cluster, the time and the policy of a question."""

    cluster = serializers.SlugField(max_length=63)
    snapshot = serializers.UUIDField(required=False, help_text="The cluster's newest without one.")
    policy = serializers.CharField(max_length=63, default="default", help_text="Name of a policy.")
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=10**9 - 1, help_text="Of the policy; the newest without one."
    )


class AnsweredSerializer(serializers.Serializer[Any]):
    """The subject of an answer given at once."""

    snapshot = serializers.UUIDField()
    policy = serializers.CharField()
    revision = serializers.IntegerField()
    engine = serializers.CharField(help_text="The version of kschedweb, and the kube-scheduler whose answer this is.")


class FoundSerializer(serializers.Serializer[Any]):
    answer = serializers.CharField(help_text="One sentence.")


class CostChangeSerializer(serializers.Serializer[Any]):
    """Change of an hour's cost, by the price table that the cluster has now."""

    unit = serializers.CharField(help_text="The currency.")
    before = serializers.FloatField()
    after = serializers.FloatField()
    change = serializers.FloatField(help_text="More an hour; negative: less.")
    nodes = serializers.IntegerField(help_text="Nodes that come or go.")
    unpriced = serializers.IntegerField(help_text="Those of them without a price, which count nothing.")
