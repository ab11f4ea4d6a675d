"""One filter for the list of policies, on the page and over REST."""

from __future__ import annotations

from kschedweb.policies.models import Policy
from kschedweb.policies.revisions.filters import DocumentFilter


class PolicyFilter(DocumentFilter):
    class Meta:
        model = Policy
        fields = ["kind"]
