"""The form that saves a conversion as a policy."""

from __future__ import annotations

from django import forms

from kschedweb.policies.services import NAME_HELP


class ProfileForm(forms.Form):
    name = forms.CharField(max_length=63, help_text=NAME_HELP)
