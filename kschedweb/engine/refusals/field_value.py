"""Parts of an object that a person gave. What has another shape than is asked for counts as missing: whoever reads the
object says what is wrong with its shape.
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
        """The field ``name``; its value is ``None`` where it is missing."""
        path, value = self.path, self.value
        return FieldValue(f"{path}.{name}" if path else name, value.get(name) if isinstance(value, dict) else None)

    def path_to(self, name: str) -> str:
        """The path of the field ``name``."""
        return child_path(self.path, name)

    def path_of_key(self, key: str) -> str:
        """The path of what a map holds under ``key``."""
        return f"{self.path}[{key}]"

    @property
    def is_given(self) -> bool:
        return self.value is not None

    @property
    def items(self) -> list[FieldValue]:
        """The objects in a list, each with its place."""
        if not isinstance(self.value, list):
            return []
        return [FieldValue(f"{self.path}[{at}]", item) for at, item in enumerate(self.value) if isinstance(item, dict)]

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else ""

    @property
    def number(self) -> int:
        """0 where it is missing."""
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
