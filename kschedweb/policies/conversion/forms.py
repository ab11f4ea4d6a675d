"""The form that saves a conversion as a policy."""

from __future__ import annotations

from django import forms

from kschedweb.policies.services import NAME_HELP
from kschedweb.web.translating import gettext_lazy as _


class ProfileForm(forms.Form):
    name = forms.CharField(max_length=63, label=_("Name"), help_text=_(NAME_HELP))
