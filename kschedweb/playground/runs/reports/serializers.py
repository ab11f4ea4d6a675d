"""Serializers of the reports of runs and comparisons."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from kschedweb.playground.reports.serializers import ReportSerializer
from kschedweb.web.translating import gettext_lazy as _


class ReportBaseSerializer(serializers.Serializer[Any]):
    """The cluster that the scenario starts from; all null for an imagined cluster."""

    snapshot = serializers.CharField(allow_null=True)
    cluster = serializers.CharField(allow_null=True)
    taken_at = serializers.DateTimeField(allow_null=True)


class ReportScenarioSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    revision = serializers.IntegerField()
    description = serializers.CharField()


class ReportRunSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    policy = serializers.CharField()
    seed = serializers.IntegerField()
    virtual_seconds = serializers.FloatField(allow_null=True)
    seconds = serializers.FloatField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    engine = serializers.CharField(help_text=_("The version of kschedweb, and the kube-scheduler it stands for."))


class RunReportSerializer(ReportSerializer):
    """A run or a comparison with all that is needed to judge it."""

    kind = serializers.ChoiceField(choices=["RunReport", "ComparisonReport"])
    scenario = ReportScenarioSerializer()
    base = ReportBaseSerializer()
    seed_decides = serializers.ListField(child=serializers.CharField())
    feature_gates = serializers.CharField()
    runs = ReportRunSerializer(many=True)
    name = serializers.CharField(required=False, help_text=_("Of a comparison."))
