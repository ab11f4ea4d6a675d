"""The filter of the list of policies, for the page and REST."""

from __future__ import annotations

from kschedweb.policies.models import Policy
from kschedweb.policies.revisions.filters import DocumentFilter


class PolicyFilter(DocumentFilter):
    class Meta:
        model = Policy
        fields = ["kind"]
