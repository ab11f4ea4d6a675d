"""What the API server answers where it refuses: Status objects in its words."""

from __future__ import annotations

import json
from typing import Any

from kschedweb.engine.objects.access import Json
from kschedweb.engine.sandbox.resources import Resource
from kschedweb.engine.validation.fields import Problem, aggregate
from kschedweb.engine.validation.fields import invalid as invalid_field

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


class Refusal(Exception):
    """A request that is refused with ``code``; ``reason`` is the API's word for why."""

    def __init__(self, code: int, reason: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details

    @property
    def body(self) -> Json:
        """The Status object."""
        found = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }
        details = {key: value for key, value in self.details.items() if value}
        return found | ({"details": details} if self.details else {})


def _named(resource: Resource, name: str) -> Json:
    return {"name": name, "group": resource.group, "kind": resource.plural}


def missing(resource: Resource, name: str) -> Refusal:
    return Refusal(404, "NotFound", f'{resource.qualified} "{name}" not found', **_named(resource, name))


def exists(resource: Resource, name: str, *, leaving: bool = False) -> Refusal:
    said = "object is being deleted: " if leaving else ""
    message = f'{said}{resource.qualified} "{name}" already exists'
    return Refusal(409, "AlreadyExists", message, **_named(resource, name))


def conflict(resource: Resource, name: str, why: str = MODIFIED, *, sub: str = "") -> Refusal:
    where = f"{resource.plural}/{sub}" if sub else resource.qualified
    message = f'Operation cannot be fulfilled on {where} "{name}": {why}'
    return Refusal(409, "Conflict", message, **_named(resource, name) | ({"kind": where} if sub else {}))


def unmet(resource: Resource, name: str, what: str, asked: str, there: str, happened: str) -> Refusal:
    """A precondition of a deletion that does not hold."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    message = (
        f'Operation cannot be fulfilled on {kind} "{name}": the {what} in the precondition ({asked}) does not match '
        f"the {what} in record ({there}). The object might have been {happened}"
    )
    return Refusal(409, "Conflict", message, name=name, group=resource.group, kind=resource.kind)


def forbidden(resource: Resource, name: str, why: str) -> Refusal:
    message = f'{resource.qualified} "{name}" is forbidden: {why}'
    return Refusal(403, "Forbidden", message, **_named(resource, name))


def invalid(resource: Resource, name: str, problems: list[Problem]) -> Refusal:
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    causes = [_cause(one) for one in problems]
    details = {"name": name, "group": resource.group, "kind": resource.kind, "causes": causes}
    return Refusal(422, "Invalid", f'{kind} "{name}" is invalid: {aggregate(problems)}', **details)


def _cause(problem: Problem) -> Json:
    """``spec.x: Invalid value: …`` as a cause of a Status."""
    message = problem.text.removeprefix(f"{problem.path}: ")
    reason = next((word for kind, word in _REASONS.items() if message.startswith(kind)), "FieldValueInvalid")
    return {"reason": reason, "message": message, "field": problem.path}


_REASONS = {
    "Required value": "FieldValueRequired",
    "Forbidden": "FieldValueForbidden",
    "Duplicate value": "FieldValueDuplicate",
    "Unsupported value": "FieldValueNotSupported",
    "Not found": "FieldValueNotFound",
    "Too long": "FieldValueTooLong",
    "Too many": "FieldValueTooMany",
    "Invalid value": "FieldValueInvalid",
}


def another_uid(resource: Resource, namespace: str, name: str, asked: str, there: str) -> Refusal:
    """The object of that name is another one; in the words of the API server's storage."""
    place = _STORED.get(resource.plural, resource.plural)
    key = "/".join(filter(None, ("/registry", place, namespace, name)))
    why = (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition "
        f"failed: UID in precondition: {asked}, UID in object meta: {there}"
    )
    return conflict(resource, name, why)


_STORED = {"nodes": "minions"}


def unversioned(resource: Resource, name: str) -> Refusal:
    """An update that does not say which version it is about, of a resource where it must."""
    problem = Problem(
        "metadata.resourceVersion", "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    )
    details = {**_named(resource, name), "causes": [_cause(problem)]}
    return Refusal(422, "Invalid", f'{resource.qualified} "{name}" is invalid: {problem.text}', **details)


def unreadable(resource: Resource, why: str, raw: Json | None = None) -> Refusal:
    """An object that cannot be decoded; ``raw`` is given where it says that it is of another kind."""
    kind, version = (resource.kind, resource.version) if raw is None else (raw.get("kind"), raw.get("apiVersion"))
    return bad(f'{kind} in version "{version or resource.api_version}" cannot be handled as a {resource.kind}: {why}')


def unpatchable(changed: Json, why: str) -> Refusal:
    """A patch that leaves an object which cannot be decoded."""
    text = json.dumps(changed, separators=(",", ":"))
    problem = invalid_field("patch", text, why)
    return Refusal(422, "Invalid", f' "" is invalid: {problem.text}', causes=[_cause(problem)])


def failed(message: str) -> Refusal:
    return Refusal(500, "InternalError", f"Internal error occurred: {message}")


def bad(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def unknown_path() -> Refusal:
    return Refusal(404, "NotFound", "the server could not find the requested resource")


def not_allowed() -> Refusal:
    return Refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def unsupported() -> Refusal:
    return Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type", causes=[])


def expired(asked: int, oldest: int) -> Refusal:
    return Refusal(410, "Expired", f"too old resource version: {asked} ({oldest})")


def too_many(message: str, seconds: int = 0) -> Refusal:
    return Refusal(429, "TooManyRequests", message, retryAfterSeconds=seconds)


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")
