"""What is asked beside a document: by saving it, and by comparing two of its revisions."""

from __future__ import annotations

from typing import Any

from django import forms

_LARGEST = 2**31 - 1


class SaveForm(forms.Form):
    """What is said beside the document when it is saved."""

    comment = forms.CharField(max_length=500, required=False)
    expected = forms.IntegerField(min_value=1, max_value=_LARGEST)


class DiffForm(forms.Form):
    """Which two revisions; left out: the newest and the one before it."""

    to = forms.IntegerField(min_value=1, max_value=_LARGEST, required=False)
    view = forms.ChoiceField(choices=[("split", "Side by side"), ("unified", "Unified")], required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # "from" is a word of the language.
        self.fields["from"] = forms.IntegerField(min_value=1, max_value=_LARGEST, required=False)
