"""Filter of the list of scenarios, on the page and over REST."""

from __future__ import annotations

from kschedweb.playground.scenarios.models import Scenario
from kschedweb.policies.revisions.filters import DocumentFilter


class ScenarioFilter(DocumentFilter):
    class Meta:
        model = Scenario
        fields: list[str] = []
