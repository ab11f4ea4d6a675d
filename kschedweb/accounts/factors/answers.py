"""A passkey's answer as a field of a form: well formed, given to this site, and reduced to the needed parts."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from allauth.core import context
from cryptography.exceptions import InvalidSignature
from django import forms
from django.conf import settings
from django.utils.translation import gettext
from fido2.webauthn import AuthenticationResponse, RegistrationResponse

from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from django.http import HttpRequest

    Response = RegistrationResponse | AuthenticationResponse

# The parts that fido2 needs of each kind of answer.
PARTS = {
    RegistrationResponse: ("clientDataJSON", "attestationObject"),
    AuthenticationResponse: ("clientDataJSON", "authenticatorData", "signature"),
}


def unusable_answer() -> forms.ValidationError:
    return forms.ValidationError(gettext("The passkey's answer cannot be used. Try again."))


class AnswerField(forms.CharField):
    """A field that gives the parts of an answer that its kind needs. Extensions and other posted data are dropped."""

    widget = forms.HiddenInput

    def __init__(self, kind: type[Response]) -> None:
        super().__init__()
        self.kind = kind

    def clean(self, value: Any) -> Json:
        text = super().clean(value)
        try:
            answer = _pick_parts(self.kind, json.loads(text))
            response = self.kind.from_dict(answer)
            if isinstance(response, RegistrationResponse):
                _check_key(response)
        # fido2 and the readers of CBOR, JSON and keys below it raise errors of any kind.
        except Exception:
            raise unusable_answer() from None
        _check_origin(response.response.client_data.origin, context.request)
        return answer


def _pick_parts(kind: type[Response], answer: Any) -> Json:
    raw_id, response = answer["rawId"], {name: answer["response"][name] for name in PARTS[kind]}
    # fido2 takes a number for the size of a part, and would allocate that many bytes.
    if not all(isinstance(part, str) for part in (raw_id, *response.values())):
        raise TypeError("a part is no text")
    return {"id": raw_id, "rawId": raw_id, "type": "public-key", "response": response}


def _check_key(response: RegistrationResponse) -> None:
    """Raise an error for an answer whose key could never confirm a login."""
    credential = response.response.attestation_object.auth_data.credential_data
    if credential is None:
        raise ValueError("no key")
    # A wrong signature is expected; any other error means that the key cannot verify at all.
    with contextlib.suppress(InvalidSignature):
        credential.public_key.verify(b"", b"")


def _check_origin(origin: str, request: HttpRequest) -> None:
    """Refuse another scheme, host or port. fido2 checks the domain alone, and over plain HTTP not even that."""
    site = f"{request.scheme}://{request.get_host()}"
    # Django checks forms in the same way: behind a proxy that changes the host, the operator names the site's address.
    if origin not in (site, *settings.CSRF_TRUSTED_ORIGINS):
        raise forms.ValidationError(
            gettext("The passkey was used at another address. Open %(site)s and try again.") % {"site": site}
        )
