"""REST: what the predicates and priorities of classic policies do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.decisions import selectors
from kschedweb.decisions.classic import catalogue
from kschedweb.engine.config.notes import EQUAL, NEAR, NONE
from kschedweb.engine.releases.classic.descriptions import PREDICATE, PRIORITY

if TYPE_CHECKING:
    from rest_framework.request import Request

STANDINGS = list(catalogue.WORDS)


class CounterpartSerializer(serializers.Serializer[Any]):
    """Its counterpart in today's scheduler, and the differences."""

    kind = serializers.ChoiceField([EQUAL, NEAR, NONE])
    plugins = serializers.ListField(child=serializers.CharField())
    text = serializers.CharField()


class ClassicEntrySerializer(serializers.Serializer[Any]):
    """A predicate or a priority of kube-scheduler 1.13 and 1.9."""

    name = serializers.CharField(source="rule.name", help_text="For one that an argument makes, the argument's.")
    kind = serializers.ChoiceField([PREDICATE, PRIORITY], source="rule.kind")
    place = serializers.IntegerField(help_text="Of a predicate, in the fixed order from 1; 0 where it has none.")
    weight = serializers.IntegerField(allow_null=True, help_text="Of a priority, in the default provider.")
    rejects = serializers.SerializerMethodField(help_text="Of a predicate: which nodes.")
    prefers = serializers.CharField(source="rule.prefers", help_text="Of a priority: which nodes.")
    formula = serializers.SerializerMethodField(help_text="Of a priority: its score from 0 to 10.")
    notes = serializers.CharField(source="rule.more")
    reasons = serializers.ListField(child=serializers.CharField(), source="rule.reasons", help_text="In 1.13's words.")
    argument = serializers.CharField(source="rule.argument", help_text="Its kind of argument, '' for none.")
    argument_example = serializers.CharField(source="rule.shape", help_text="Such an argument, as JSON.")
    runs = serializers.DictField(
        child=serializers.ChoiceField(STANDINGS), source="standings", help_text="When it runs, by version."
    )
    switch = serializers.CharField(source="rule.switch", help_text="What switches it on, '' for nothing.")
    today = CounterpartSerializer(source="rule.counterpart")
    policies = serializers.ListField(
        child=serializers.CharField(), help_text="The site's classic policies under whose newest revision it runs."
    )

    def get_rejects(self, entry: catalogue.CatalogueEntry) -> str:
        return entry.rule.plain_text if entry.rule.kind == PREDICATE else ""

    def get_formula(self, entry: catalogue.CatalogueEntry) -> str:
        return entry.rule.plain_text if entry.rule.kind == PRIORITY else ""


class ClassicCatalogueSerializer(serializers.Serializer[Any]):
    """All predicates in the order in which they are asked, then all priorities."""

    entries = ClassicEntrySerializer(many=True)


class ClassicView(APIView):
    """The predicates and priorities of classic policies, explained."""

    action_required = Action.VIEW

    @extend_schema(operation_id="classic_retrieve", responses=ClassicCatalogueSerializer)
    def get(self, request: Request) -> Response:
        body = {"entries": catalogue.list_entries(selectors.classic_uses())}
        return Response(ClassicCatalogueSerializer(body).data)


urlpatterns = [path("classic/", ClassicView.as_view(), name="classic")]
