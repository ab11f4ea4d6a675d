"""REST serializers of node groups of cluster-autoscaler."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from kschedweb.advice.autoscaling import groups, words
from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation.autoscaling.cluster_look import EXPANDERS

TEXTS = serializers.ListField(child=serializers.CharField())


class GroupsRequestSerializer(serializers.Serializer[Any]):
    cluster = serializers.SlugField(max_length=63)
    snapshot = serializers.UUIDField(required=False, help_text="The cluster's newest without one.")
    document = serializers.CharField(
        help_text="Node groups, expander and scale-down as a scenario has them below `autoscaler.clusterAutoscaler`, "
        "as YAML or JSON."
    )


class GroupScoreSerializer(serializers.Serializer[Any]):
    """The scores of a node group. Its nodes would leave shares of their CPU and memory free, from 0 to 1."""

    group = serializers.CharField()
    count = serializers.IntegerField()
    pods = serializers.IntegerField()
    wasted_cpu = serializers.FloatField(source="wastedCpu")
    wasted_memory = serializers.FloatField(source="wastedMemory")
    price = serializers.FloatField(allow_null=True, help_text="Of one node an hour.")
    price_per_pod = serializers.FloatField(source="pricePerPod", allow_null=True)
    priority = serializers.IntegerField()


class GroupWithoutScoreSerializer(serializers.Serializer[Any]):
    group = serializers.CharField()
    why = serializers.CharField()


class ScaleUpSerializer(serializers.Serializer[Any]):
    """A look that asks for `count` nodes of `group`, the first of `candidates`; `pods` of each."""

    group = serializers.CharField()
    count = serializers.IntegerField()
    price = serializers.FloatField(allow_null=True, help_text="Of these nodes an hour.")
    pods = serializers.ListField(child=TEXTS)
    candidates = GroupScoreSerializer(many=True)
    others = GroupWithoutScoreSerializer(many=True)


class HelplessPodSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField()
    why = serializers.DictField(child=serializers.CharField(allow_blank=True), help_text="By node group.")


class GroupsNodeSerializer(serializers.Serializer[Any]):
    node = serializers.CharField()
    group = serializers.CharField(allow_blank=True)
    price = serializers.FloatField(allow_null=True)
    verdict = serializers.ChoiceField(choices=words.VERDICTS)
    why = serializers.CharField(allow_blank=True, help_text="Why it stays.")
    used = serializers.DictField(
        child=serializers.ListField(child=serializers.IntegerField(), min_length=2, max_length=2),
        help_text="By resource, what is requested and what there is: CPU in thousandths, memory in bytes.",
    )
    utilisation = serializers.FloatField(help_text="The larger of these shares, which is held against the threshold.")
    pods = TEXTS
    moves = serializers.DictField(child=serializers.CharField(), help_text="Where its pods would go, by pod.")


class GroupsSerializer(serializers.Serializer[Any]):
    """The decisions of cluster-autoscaler, after its documentation; not compared with its code."""

    answer = serializers.SerializerMethodField()
    expander = serializers.ChoiceField(choices=EXPANDERS)
    threshold = serializers.FloatField()
    unneeded = serializers.FloatField(help_text="Seconds for which a node is unneeded before it goes.")
    after_add = serializers.FloatField(
        source="afterAdd", help_text="Seconds for which no node goes after one was asked for."
    )
    existing = serializers.DictField(child=serializers.CharField(), help_text="Pods that fit on nodes that are there.")
    looks = ScaleUpSerializer(many=True)
    helpless = HelplessPodSerializer(many=True, help_text="At most a hundred.")
    helpless_count = serializers.IntegerField(source="helplessCount")
    nodes = GroupsNodeSerializer(many=True)

    def get_answer(self, answer: Json) -> str:
        """One sentence."""
        return groups.render_sentence(answer)
