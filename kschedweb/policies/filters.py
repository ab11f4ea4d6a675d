"""The filter of the list of policies, for the page and REST."""

from __future__ import annotations

from django_filters import ChoiceFilter

from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.models import Policy
from kschedweb.policies.revisions.filters import DocumentFilter
from kschedweb.web.translating import gettext_lazy as _


class PolicyFilter(DocumentFilter):
    kind = ChoiceFilter(choices=PolicyKind.choices, label=_("Kind"))

    class Meta:
        model = Policy
        fields = ["kind"]
