"""Variables of the environment by type; an invalid value stops the start and names the variable.

For a secret or a list, ``NAME_FILE`` can be set instead of ``NAME``: the file's content is the value. An empty value
counts as unset.

``environ.FileAwareEnv`` (0.14) is not suitable: it reads ``HTTPS=maybe`` as false, the password ``$ecret`` as the name
of another variable, and a file with its last line end; it accepts both variables at once, and its errors quote the
value.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import ClassVar

from django.core.exceptions import ImproperlyConfigured


@dataclass(frozen=True)
class Variable:
    """A variable of the environment, with its words for docs/settings.md."""

    name: str
    # Markdown, with links relative to docs/.
    meaning: str
    _: KW_ONLY
    # What holds without a value; "" if the default says it.
    unset: str = ""
    # True if ``NAME_FILE`` may be set instead.
    takes_file: ClassVar[bool] = False


@dataclass(frozen=True)
class Text(Variable):
    _: KW_ONLY
    default: str = ""

    def read(self) -> str:
        return os.environ.get(self.name) or self.default


@dataclass(frozen=True)
class Secret(Text):
    takes_file: ClassVar[bool] = True

    def read(self) -> str:
        """Return the value, or the content of the file that ``NAME_FILE`` points to."""
        path = os.environ.get(f"{self.name}_FILE")
        if not path:
            return super().read()
        if os.environ.get(self.name):
            raise ImproperlyConfigured(f"{self.name} and {self.name}_FILE are both set: set one of them.")
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{self.name}_FILE cannot be read: {error.strerror}.") from None

    def is_set(self) -> bool:
        return bool(os.environ.get(self.name) or os.environ.get(f"{self.name}_FILE"))


@dataclass(frozen=True)
class Words(Secret):
    """A comma-separated list."""

    def read_list(self) -> list[str]:
        return [word.strip() for word in self.read().split(",") if word.strip()]


@dataclass(frozen=True)
class Boolean(Variable):
    _: KW_ONLY
    default: bool = False

    def read(self) -> bool:
        value = os.environ.get(self.name, "").strip().lower()
        if not value:
            return self.default
        if value in {"1", "true", "yes", "on"}:
            return True
        if value in {"0", "false", "no", "off"}:
            return False
        raise ImproperlyConfigured(f"{self.name} must be true or false.")


@dataclass(frozen=True)
class Integer(Variable):
    _: KW_ONLY
    default: int
    minimum: int
    maximum: int

    def read(self) -> int:
        value = os.environ.get(self.name, "").strip()
        if not value:
            return self.default
        try:
            number = int(value)
        except ValueError:
            raise ImproperlyConfigured(f"{self.name} must be a whole number.") from None
        if not self.minimum <= number <= self.maximum:
            raise ImproperlyConfigured(f"{self.name} must be between {self.minimum} and {self.maximum}.")
        return number


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """End the process with status 2 and one line if a setting is invalid. A context for entry points."""
    try:
        yield
    except ImproperlyConfigured as error:
        sys.stderr.write(f"kschedweb: {error}\n")
        raise SystemExit(2) from None
