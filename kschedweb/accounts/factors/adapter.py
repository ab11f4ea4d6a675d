"""django-allauth's second factors, with their keys encrypted."""

from __future__ import annotations

from allauth.mfa.adapter import DefaultMFAAdapter
from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext

from kschedweb.accounts.sealing import seal, unseal
from kschedweb.web.errors import ApplicationError


class FactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    def encrypt(self, text: str) -> str:
        return seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        text = unseal(encrypted_text)
        if text is None:
            message = "No key opens your second factor: the operator has taken its key away. Ask an admin to remove it."
            raise ApplicationError(message, status=503)
        return text

    def get_totp_label(self, user: AbstractBaseUser) -> str:
        return user.get_username()

    def generate_authenticator_name(self, user: AbstractBaseUser, type: object) -> str:
        return gettext("Passkey")
