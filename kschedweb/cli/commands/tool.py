"""A tool of the Model Context Protocol, and the arguments that several share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kschedweb.cli.exits import CommandError
from kschedweb.cli.session import CliSession
from kschedweb.engine.json_types import Json

# Rows of a list.
ROWS = 100
# Feasible nodes of a decision: the best ones.
NODES = 20
CLUSTER = {"type": "string", "description": "Its name, from list_clusters."}
POLICY = {"type": "string", "description": "A saved policy as name or name@revision; default without it."}

POD = {"type": "string", "description": "namespace/name"}


@dataclass(frozen=True)
class Tool:
    """A tool of the Model Context Protocol."""

    description: str
    # JSON Schemas by name.
    properties: dict[str, Json]
    call: Callable[[CliSession, Json], Any]
    # Names of properties that must be given.
    required: tuple[str, ...] = ()

    @property
    def input_schema(self) -> Json:
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "additionalProperties": False,
        }

    def validate_arguments(self, arguments: Any) -> Json:
        """Check and return the arguments of a call. Raise CommandError."""
        if not isinstance(arguments, dict):
            raise CommandError("arguments: must be an object")
        if missing := [name for name in self.required if name not in arguments]:
            raise CommandError(f"{missing[0]}: is missing")
        kinds: dict[str, tuple[type, str]] = {"string": (str, "text"), "object": (dict, "an object")}
        for name, value in arguments.items():
            if name not in self.properties:
                raise CommandError(f"{name}: is unknown; known are {', '.join(self.properties)}")
            kind, word = kinds[self.properties[name]["type"]]
            if not isinstance(value, kind):
                raise CommandError(f"{name}: must be {word}")
        return arguments


def split_key(text: str, argument: str) -> tuple[str, str]:
    """Return (namespace, name) of ``namespace/name``. Raise CommandError."""
    namespace, slash, name = text.partition("/")
    if not slash or not name:
        raise CommandError(f"{argument}: must be namespace/name")
    return namespace, name
