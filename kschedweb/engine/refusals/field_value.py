"""Parts of an object as it was written.

A value of another shape than the one that is asked for counts as missing: the reader of the object reports the shape.
"""

from __future__ import annotations

from typing import Any

from kschedweb.engine.validation.fields import child_path
from kschedweb.engine.values import dataclass


@dataclass(slots=True)  # not frozen: one is made for each field of each object
class FieldValue:
    """A value with its path as the API server writes it."""

    path: str
    value: Any

    def __getitem__(self, name: str) -> FieldValue:
        """Return the field ``name``, with the value ``None`` if it is missing."""
        path, value = self.path, self.value
        return FieldValue(f"{path}.{name}" if path else name, value.get(name) if isinstance(value, dict) else None)

    def path_to(self, name: str) -> str:
        """Return the path of the field ``name``."""
        return child_path(self.path, name)

    def path_of_key(self, key: str) -> str:
        """Return the path of a map's value under ``key``."""
        return f"{self.path}[{key}]"

    @property
    def is_given(self) -> bool:
        return self.value is not None

    @property
    def items(self) -> list[FieldValue]:
        """The objects in a list, each with its index in the path."""
        if not isinstance(self.value, list):
            return []
        return [FieldValue(f"{self.path}[{at}]", item) for at, item in enumerate(self.value) if isinstance(item, dict)]

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else ""

    @property
    def number(self) -> int:
        """The whole number; 0 if it is missing."""
        return self.value if isinstance(self.value, int) and not isinstance(self.value, bool) else 0

    @property
    def texts(self) -> list[str]:
        return [item for item in self.value if isinstance(item, str)] if isinstance(self.value, list) else []

    @property
    def labels(self) -> dict[str, str]:
        """A map of texts, such as labels."""
        if not isinstance(self.value, dict):
            return {}
        return {key: item for key, item in self.value.items() if isinstance(item, str)}
