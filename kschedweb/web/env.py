"""Typed readers of the environment; a wrong value stops the start and names the variable.

``NAME_FILE`` may be set instead of ``NAME`` where a value is a secret: the file's content is then the value.

``environ.FileAwareEnv`` (0.14) does not do: it reads ``HTTPS=maybe`` as false, the password ``$ecret`` as the name of
another variable and a file with its last line end, says nothing where both are set, and its errors quote the value.
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
    """At a process's entrance: a wrong setting ends it with one line that names the setting, and exit status 2."""
    try:
        yield
    except ImproperlyConfigured as error:
        sys.stderr.write(f"kschedweb: {error}\n")
        raise SystemExit(2) from None
