"""The step of a login that asks for a second factor, if the person has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allauth.mfa.stages import AuthenticateStage

if TYPE_CHECKING:
    from django.http import HttpRequest


class FactorStage(AuthenticateStage):  # type: ignore[misc]
    def _should_handle(self, request: HttpRequest) -> bool:
        """Return whether the step applies. For people of an identity provider, factors are the provider's business."""
        return not hasattr(request, "identity") and super()._should_handle(request)
