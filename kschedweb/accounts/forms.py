"""Forms of the account pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.utils.translation import gettext

from kschedweb.accounts.lockout import password_turn
from kschedweb.accounts.models import Density
from kschedweb.accounts.roles import Action, Role
from kschedweb.accounts.services import MAX_TOKEN_DAYS
from kschedweb.accounts.signin.local import password_allowed
from kschedweb.web.moments import zone_names
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from django.http import HttpRequest, QueryDict

    from kschedweb.accounts.models import User
    from kschedweb.accounts.typing import PageRequest


class LoginForm(AuthenticationForm):
    request: HttpRequest

    def clean(self) -> dict[str, Any]:
        with password_turn(self.request):
            return super().clean()

    def confirm_login_allowed(self, user: User) -> None:  # type: ignore[override]
        """Refuse a login while local accounts are off, in the words of a wrong password, so that nobody can try
        passwords.
        """
        super().confirm_login_allowed(user)
        if not password_allowed(user):
            raise self.get_invalid_login_error()


class PasswordForm(PasswordChangeForm):  # type: ignore[type-arg]
    """A form that checks the old password as a login does: with its limits, counting and audit."""

    def __init__(self, request: PageRequest, data: QueryDict | None) -> None:
        super().__init__(request.user, data)
        self.request = request

    def clean_old_password(self) -> str:
        password: str = self.cleaned_data["old_password"]
        with password_turn(self.request):
            if authenticate(self.request, username=self.user.get_username(), password=password) != self.user:
                raise forms.ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")
        return password

    def clean(self) -> dict[str, Any]:
        super().clean()
        cleaned = self.cleaned_data
        if cleaned.get("new_password1") and cleaned["new_password1"] == cleaned.get("old_password"):
            self.add_error("new_password1", _("Choose a password that differs from your current one."))
        return cleaned


class DisplayForm(forms.Form):
    """The display settings of a person."""

    language = forms.ChoiceField(label=_("Language"), required=False)
    time_zone = forms.ChoiceField(label=_("Time zone"), required=False, help_text=_("UTC is always shown too."))
    density = forms.ChoiceField(choices=Density.choices, label=_("Rows of tables"), required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        browsers = ("", _("Same as the browser"))
        zones = ((name, name) for name in sorted(zone_names()))
        self.fields["time_zone"].choices = [browsers, *zones]  # type: ignore[attr-defined]
        self.fields["language"].choices = [browsers, *settings.LANGUAGES]  # type: ignore[attr-defined]


class TokenForm(forms.Form):
    name = forms.CharField(max_length=64, help_text=_("What will use the token, such as “CI of team blue”."))
    scope = forms.ChoiceField(choices=Action.choices, initial=Action.VIEW, label=_("Scope"))
    days = forms.IntegerField(
        min_value=1,
        max_value=MAX_TOKEN_DAYS,
        initial=90,
        label=_("Days until it expires"),
    )

    def __init__(self, *args: object, user: User, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        scope = self.fields["scope"]
        assert isinstance(scope, forms.ChoiceField)
        scope.choices = [(value, label) for value, label in Action.choices if user.may(value)]
        self.fields["days"].help_text = gettext("At most %(days)s.") % {"days": MAX_TOKEN_DAYS}


class PersonForm(forms.Form):
    username = forms.CharField(max_length=150, validators=[UnicodeUsernameValidator()])
    email = forms.EmailField(required=False)
    role = forms.ChoiceField(choices=Role.choices, initial=Role.VIEWER)


class GrantForm(forms.Form):
    """A new grant: the person or group, the role, and the clusters."""

    user = forms.CharField(
        label=_("Person"), max_length=150, required=False, help_text=_("A person, or a group below.")
    )
    group = forms.CharField(
        label=_("Group"),
        max_length=191,
        required=False,
        help_text=_("As the identity provider or the proxy names it; * matches anything."),
    )
    role = forms.ChoiceField(label=_("Role"), choices=[choice for choice in Role.choices if choice[0] != Role.NONE])
    cluster = forms.ChoiceField(label=_("Cluster"), required=False)
    label = forms.CharField(
        label=_("Or clusters with the label"), max_length=127, required=False, help_text=_("Such as env=prod.")
    )
    namespaces = forms.CharField(
        label=_("Namespaces"),
        max_length=3500,
        required=False,
        help_text=_("Separated by commas, such as web, shop. Leave empty for all."),
    )

    def __init__(self, *args: Any, clusters: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["cluster"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [("", _("All clusters")), *((name, name) for name in sorted(clusters))]

    def clean_namespaces(self) -> list[str]:
        return str(self.cleaned_data["namespaces"]).replace(",", " ").split()


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Role.choices)
