"""REST: what would let a pending pod run."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from kschedweb.engine.studies.fixes.changes import ChangeKind
from kschedweb.engine.studies.fixes.devices import LinkState


class ChangedObjectSerializer(serializers.Serializer[Any]):
    """The object that a person edits: of a pod with a controller the controller."""

    kind = serializers.CharField()
    namespace = serializers.CharField(allow_blank=True)
    name = serializers.CharField()


class FixChangeSerializer(serializers.Serializer[Any]):
    """A change of one field of one object."""

    kind = serializers.ChoiceField(choices=[kind.value for kind in ChangeKind])
    object = ChangedObjectSerializer()
    path = serializers.CharField(allow_blank=True, help_text="The field, with containers by name; '' for a new object.")
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)
    sentence = serializers.CharField()
    arguments = serializers.DictField(child=serializers.CharField(), help_text="What the sentence names.")
    command = serializers.CharField(allow_blank=True, help_text="A command that does it; '' where kubectl has none.")


class FixSerializer(serializers.Serializer[Any]):
    """Changes after which the engine places the pod."""

    sentence = serializers.CharField()
    node = serializers.CharField(help_text="Where the pod goes then.")
    changes = FixChangeSerializer(many=True)


class ChainLinkSerializer(serializers.Serializer[Any]):
    """A step by which devices come to be offered."""

    name = serializers.CharField()
    state = serializers.ChoiceField(choices=[state.value for state in LinkState])
    sentence = serializers.CharField()
    text = serializers.CharField(help_text="The sentence before `arguments` are put in.")
    arguments = serializers.DictField(child=serializers.CharField())


class DeviceChainSerializer(serializers.Serializer[Any]):
    """The chain by which a device is usually offered, and the links that the cluster shows."""

    resource = serializers.CharField(help_text="The extended resource, or the device class.")
    family = serializers.CharField(allow_blank=True)
    links = ChainLinkSerializer(many=True)
    first_missing = serializers.CharField(allow_blank=True)
