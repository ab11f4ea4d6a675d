"""The language of pages: that of the person's settings, else of the cookie, else of the browser. REST is in English."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.functional import Promise

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

REST_PREFIX = "/api/"


def supported_language(code: str) -> str:
    """Return ``code`` if the site has this language, else ""."""
    return code if code in dict(settings.LANGUAGES) else ""


def in_english(text: str) -> str:
    """Return ``text`` as the sources have it, if it is a lazy translation."""
    if isinstance(text, Promise):
        with translation.override(None):
            return str(text)
    return text


def language_of(request: HttpRequest) -> str:
    """Return the code of the language in which ``request`` is answered."""
    if request.path.startswith(REST_PREFIX):
        return settings.LANGUAGE_CODE
    chosen = supported_language(getattr(request.user, "language", "")) or supported_language(
        request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
    )
    return chosen or translation.get_language_from_request(request)


class LanguageMiddleware:
    """Answers pages in the language of the reader."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with translation.override(language_of(request)):
            response = self.get_response(request)
        if not request.path.startswith(REST_PREFIX):
            patch_vary_headers(response, ("Accept-Language",))  # type: ignore[arg-type]
        return response
