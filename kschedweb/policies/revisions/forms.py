"""The forms for saving a document, and for comparing two of its revisions."""

from __future__ import annotations

from typing import Any

from django import forms

from kschedweb.web.translating import gettext_lazy as _

_LARGEST = 2**31 - 1


class SaveForm(forms.Form):
    """The fields beside the document when it is saved."""

    comment = forms.CharField(max_length=500, required=False)
    expected = forms.IntegerField(min_value=1, max_value=_LARGEST)


class DiffForm(forms.Form):
    """The two revisions to compare; by default the newest and the one before it."""

    to = forms.IntegerField(min_value=1, max_value=_LARGEST, required=False)
    view = forms.ChoiceField(choices=[("split", _("Side by side")), ("unified", _("Unified"))], required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # "from" is a Python keyword.
        self.fields["from"] = forms.IntegerField(min_value=1, max_value=_LARGEST, required=False)
