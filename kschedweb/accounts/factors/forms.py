"""Forms of the step that asks for a second factor. The limits of wrong passwords hold for it, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm, AuthenticateWebAuthnForm
from axes.handlers.proxy import AxesProxyHandler
from django import forms
from django.utils.translation import gettext, gettext_lazy
from fido2.webauthn import AuthenticationResponse, RegistrationResponse

from kschedweb.accounts.factors.answers import AnswerField, unusable_answer
from kschedweb.accounts.factors.required import on_factor_failed
from kschedweb.accounts.lockout import password_turn

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


def check_within_limits(user: User, check: Callable[[], Any]) -> Any:
    """Return the result of ``check``, unless too many passwords or codes of ``user`` were wrong."""
    request = context.request
    with password_turn(request):
        if not AxesProxyHandler.is_allowed(request, {"username": user.get_username()}):
            # axes answers with the page of lockout.py.
            request.axes_locked_out = True
            raise forms.ValidationError(gettext("Too many wrong codes."))
        return check()


class CodeForm(AuthenticateForm):  # type: ignore[misc]
    code = forms.CharField(
        label=gettext_lazy("Code"),
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autofocus": True, "spellcheck": "false"}),
    )

    def clean_code(self) -> str:
        code: str = check_within_limits(self.user, super().clean_code)
        return code


class _AnswerForm(forms.Form):
    """A form whose answer is a hidden field. Errors of that field are shown as errors of the form."""

    def add_error(self, field: str | None, error: Any) -> None:
        super().add_error(None if field == "credential" else field, error)


class NewPasskeyForm(_AnswerForm, AddWebAuthnForm):  # type: ignore[misc]
    name = forms.CharField(required=False, max_length=100)
    credential = AnswerField(RegistrationResponse)

    def clean(self) -> dict[str, Any]:
        try:
            return super().clean() or {}
        # The answer may belong to the options of an older page.
        except forms.ValidationError:
            raise unusable_answer() from None


class PasskeyForm(_AnswerForm, AuthenticateWebAuthnForm):  # type: ignore[misc]
    credential = AnswerField(AuthenticationResponse)

    def clean_credential(self) -> Any:
        def check_credential() -> Any:
            try:
                return super(PasskeyForm, self).clean_credential()
            except forms.ValidationError:
                on_factor_failed(None, context.request, self.user)
                raise forms.ValidationError(gettext("This passkey does not belong to you. Try another one.")) from None

        return check_within_limits(self.user, check_credential)
