"""Typed readers of environment variables; an invalid value stops the start and names the variable.

For a secret, ``NAME_FILE`` can be set instead of ``NAME``: the file's content is the value.

``environ.FileAwareEnv`` (0.14) is not suitable: it reads ``HTTPS=maybe`` as false, the password ``$ecret`` as the name
of another variable, and a file with its last line end; it accepts both variables at once, and its errors quote the
value.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, default)


def secret(name: str, default: str = "") -> str:
    """The value of ``name``, or the content of the file that ``name_FILE`` points to."""
    path = os.environ.get(f"{name}_FILE")
    if not path:
        return text(name, default)
    if os.environ.get(name):
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set: set one of them.")
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name}_FILE cannot be read: {error.strerror}.") from None


def boolean(name: str, default: bool) -> bool:
    value = text(name).strip().lower()
    if not value:
        return default
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} must be true or false.")


def integer(name: str, default: int, least: int, most: int) -> int:
    value = text(name).strip()
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number.") from None
    if not least <= number <= most:
        raise ImproperlyConfigured(f"{name} must be between {least} and {most}.")
    return number


def words(name: str, default: str = "") -> list[str]:
    """A comma-separated list."""
    return [word.strip() for word in secret(name, default).split(",") if word.strip()]


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """A context for entry points: an invalid setting ends the process with status 2 and one line that names it."""
    try:
        yield
    except ImproperlyConfigured as error:
        sys.stderr.write(f"kschedweb: {error}\n")
        raise SystemExit(2) from None
