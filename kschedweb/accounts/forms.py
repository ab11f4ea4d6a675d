"""Forms of the account pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.contrib.auth.validators import UnicodeUsernameValidator

from kschedweb.accounts.roles import Action, Role, may
from kschedweb.accounts.services import MAX_TOKEN_DAYS

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


class TokenForm(forms.Form):
    name = forms.CharField(max_length=64, help_text="What will use it, such as “CI of team blue”.")
    scope = forms.ChoiceField(choices=Action.choices, initial=Action.VIEW, label="It may")
    days = forms.IntegerField(
        min_value=1,
        max_value=MAX_TOKEN_DAYS,
        initial=90,
        label="Days until it expires",
        help_text=f"At most {MAX_TOKEN_DAYS}.",
    )

    def __init__(self, *args: object, user: User, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        scope = self.fields["scope"]
        assert isinstance(scope, forms.ChoiceField)
        scope.choices = [(value, label) for value, label in Action.choices if may(user.role, value)]


class PersonForm(forms.Form):
    username = forms.CharField(max_length=150, validators=[UnicodeUsernameValidator()])
    email = forms.EmailField(required=False)
    role = forms.ChoiceField(choices=Role.choices, initial=Role.VIEWER)


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Role.choices)
