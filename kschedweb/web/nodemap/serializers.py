"""The forms in which REST gives a node map's columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from rest_framework.request import Request

SHOW = OpenApiParameter("show", str, description="What is shown: a name of `shows`; `cpu` without it.")
NODE = OpenApiParameter("node", str, required=True, description="Name of a node.")


class ColumnSerializer(serializers.Serializer[Any]):
    """Whole numbers, one after the other; the largest that `bytes` can hold stands for nothing."""

    bytes = serializers.ChoiceField(choices=[1, 2], help_text="Of a number, little-endian.")
    values = serializers.CharField(help_text="Base64.")


class ShiftsSerializer(serializers.Serializer[Any]):
    """Nodes that come into other groups while time passes, in the order in which they do: a row each."""

    times = serializers.ListField(child=serializers.FloatField(), help_text="Seconds.")
    nodes = ColumnSerializer(help_text="Places in `names`.")
    codes = ColumnSerializer(help_text="Places in `values`.")


class GroupingSerializer(serializers.Serializer[Any]):
    """Nodes by a label: `codes` are places in `values`, one a node, from the beginning on."""

    label = serializers.CharField()  # type: ignore[assignment]
    values = serializers.ListField(child=serializers.CharField(allow_blank=True))
    codes = ColumnSerializer()
    shifts = ShiftsSerializer()


class ShowSerializer(serializers.Serializer[Any]):
    """A colouring that can be shown, in percent of allocatable, pods, or places in `states` (no unit)."""

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    unit = serializers.CharField(allow_blank=True, help_text="`%`, `pods`, or nothing.")
    verb = serializers.CharField()
    what = serializers.CharField(allow_blank=True)


class MapSerializer(serializers.Serializer[Any]):
    """Nodes in their order, at most 20,000; `times` are seconds, one a frame."""

    names = serializers.ListField(child=serializers.CharField())
    groupings = GroupingSerializer(many=True)
    times = serializers.ListField(child=serializers.FloatField())
    exact = serializers.BooleanField(help_text="Whether nothing changes between two frames.")
    shows = ShowSerializer(many=True)
    states = serializers.ListField(child=serializers.CharField())


class FramesSerializer(ColumnSerializer):
    """The value of node n at frame t is number t × nodes + n."""

    show = serializers.CharField()
    times = serializers.IntegerField(help_text="How many frames there are.")


class NodePodsSerializer(serializers.Serializer[Any]):
    """Pods that were on a node, a row each: requests and allocatable in milli-CPU, bytes and whole units."""

    node = serializers.CharField()
    pods = serializers.ListField(child=serializers.CharField(), help_text="`namespace/name`.")
    tried = serializers.ListField(child=serializers.BooleanField(), help_text="Whether there is a decision.")
    until = serializers.ListField(child=serializers.FloatField(allow_null=True), help_text="Seconds; null: it stays.")
    requests = serializers.DictField(child=serializers.ListField(child=serializers.FloatField()))
    changes = serializers.ListField(child=serializers.FloatField(), help_text="When `allocatable` changes, in seconds.")
    allocatable = serializers.DictField(child=serializers.ListField(child=serializers.FloatField(allow_null=True)))
    omitted = serializers.IntegerField(help_text="Earlier rows that are left out.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        since = serializers.ListField(child=serializers.FloatField(), help_text="Seconds.")
        return {**super().get_fields(), "from": since}


def asked_node(request: Request) -> str:
    """The node that the address names. Raises ApplicationError without one."""
    node = request.query_params.get("node", "")
    if not node:
        message = "node: name a node."
        raise ApplicationError.at("node", message)
    return node
