"""Fields of forms for amounts of resources."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.utils.translation import gettext

from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.quantity import read_quantity

SEPARATORS = re.compile(r"[\s,]+")


class QuantityField(forms.CharField):
    """A Kubernetes quantity as text."""

    def __init__(self, label: str, help_text: str, placeholder: str) -> None:
        widget = forms.TextInput(attrs={"placeholder": placeholder, "size": 8})
        super().__init__(label=label, help_text=help_text, required=False, max_length=30, widget=widget)

    def to_python(self, value: Any) -> str:
        text = super().to_python(value) or ""
        if text:
            try:
                read_quantity(text)
            except ObjectError as error:
                raise forms.ValidationError(str(error).removeprefix(": ")) from None
        return text


class PairsField(forms.CharField):
    """Pairs of ``name=value``, several with spaces between."""

    def __init__(self, label: str, help_text: str, placeholder: str) -> None:
        widget = forms.TextInput(attrs={"placeholder": placeholder})
        super().__init__(label=label, help_text=help_text, required=False, max_length=1000, widget=widget)

    def to_python(self, value: Any) -> tuple[tuple[str, str], ...]:  # type: ignore[override]
        pairs = []
        for word in SEPARATORS.split((super().to_python(value) or "").strip()):
            name, equals, amount = word.partition("=")
            if word and not (name and equals and amount):
                raise forms.ValidationError(
                    gettext("%(word)s: write a name, an equals sign and a value.") % {"word": word}
                )
            if word:
                pairs.append((name, amount))
        return tuple(pairs)


class AmountsField(PairsField):
    """Pairs whose values are Kubernetes quantities."""

    def to_python(self, value: Any) -> tuple[tuple[str, str], ...]:  # type: ignore[override]
        pairs = super().to_python(value)
        for name, amount in pairs:
            try:
                read_quantity(amount, name)
            except ObjectError as error:
                raise forms.ValidationError(str(error)) from None
        return pairs
