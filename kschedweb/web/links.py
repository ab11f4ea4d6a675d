"""Links in messages to other programs, which cannot know the address of this site."""

from __future__ import annotations

from django.conf import settings


def build_link(path: str) -> str:
    """Return the address of ``path``: absolute if ``KSCHEDWEB_URL`` names the site's address."""
    return f"{settings.SITE_URL}{path}"
