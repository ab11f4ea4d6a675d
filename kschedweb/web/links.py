"""Links in what is told to other programs, which cannot know where this site is."""

from __future__ import annotations

from django.conf import settings


def build_link(path: str) -> str:
    """``path`` of this site; a whole address where ``KSCHEDWEB_URL`` says where people open it."""
    return f"{settings.SITE_URL}{path}"
