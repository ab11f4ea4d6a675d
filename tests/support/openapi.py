"""JSON Schemas for kubeconform, made of what an API server says of its own kinds: no network is asked for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kschedweb.engine.json_types import Json

PREFIX = "#/definitions/"
EITHER = [{"type": "string"}, {"type": "number"}]
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"


def schemas_write(document: Json, folder: Path) -> str:
    """One file a kind of ``document`` (``/openapi/v2``) into ``folder``; returns kubeconform's ``-schema-location``."""
    definitions = {name: _strict(name, definition) for name, definition in document["definitions"].items()}
    for name, definition in document["definitions"].items():
        for kind in definition.get("x-kubernetes-group-version-kind", ()):
            needed: Json = {}
            _gather(name, definitions, needed)
            group = kind["group"].partition(".")[0]
            words = [kind["kind"].lower(), *([group] if group else []), kind["version"]]
            (folder / f"{'-'.join(words)}.json").write_text(json.dumps({"$ref": PREFIX + name, "definitions": needed}))
    return str(folder / "{{.ResourceKind}}{{.KindSuffix}}.json")


def _gather(name: str, definitions: Json, gathered: Json) -> None:
    if name not in gathered:
        gathered[name] = definitions[name]
        for part in json.dumps(definitions[name]).split(f'"$ref": "{PREFIX}')[1:]:
            _gather(part.partition('"')[0], definitions, gathered)


def _strict(name: str, node: Any) -> Any:
    """A schema that takes no field that the kind does not have, and numbers where Kubernetes takes them for text."""
    if isinstance(node, list):
        return [_strict("", item) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("format") == "int-or-string" or name == QUANTITY:
        return {"anyOf": EITHER}
    schema = {key: _strict("", value) for key, value in node.items() if key != "format"}
    if isinstance(node.get("properties"), dict) and "additionalProperties" not in node and "$ref" not in node:
        schema["additionalProperties"] = bool(node.get("x-kubernetes-preserve-unknown-fields"))
    return schema
