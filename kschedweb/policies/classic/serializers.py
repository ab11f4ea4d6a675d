"""The REST fields that only classic policies have."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

PROCESS_HELP = (
    "How kube-scheduler is started. A classic one: `version`, `gates`, `maxVolumes`, `percentageOfNodesToScore`. "
    "For profiles: `release` (as 1.37), `featureGates` (name: true or false), and `files`: the texts of files that "
    "arguments such as policyConfigPath point at, by path. A stored policy of the file's name wins."
)


class RuleSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    argument = serializers.CharField(help_text="Kind and content; empty for none.")
    is_default = serializers.BooleanField(help_text="The default provider has it too, with the same weight.")
    is_mandatory = serializers.BooleanField(help_text="It always runs.")
    weight = serializers.IntegerField(help_text="0 for a predicate.")


class SettingSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    value = serializers.CharField()
    is_default = serializers.BooleanField()


class ClassicEffectiveSerializer(serializers.Serializer[Any]):
    """The rules of a classic policy: predicates in the order in which they are asked, priorities by name."""

    predicates = RuleSerializer(many=True)
    priorities = RuleSerializer(many=True)
    settings = SettingSerializer(many=True)
    never_asked = serializers.ListField(child=serializers.CharField(), help_text="Predicates named in vain.")
