"""The API server's refusals: Status objects in its words."""

from __future__ import annotations

import json
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.resources import Resource
from kschedweb.engine.validation.fields import Problem, aggregate_problems
from kschedweb.engine.validation.fields import invalid as invalid_field

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


class ApiRefusal(Exception):
    """A request that is refused with ``code``; ``reason`` is the API's word for why."""

    def __init__(self, code: int, reason: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details

    @property
    def body(self) -> Json:
        """The Status object."""
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }
        details = {key: value for key, value in self.details.items() if value}
        return status | ({"details": details} if self.details else {})


def _resource_details(resource: Resource, name: str) -> Json:
    return {"name": name, "group": resource.group, "kind": resource.plural}


def not_found(resource: Resource, name: str) -> ApiRefusal:
    return ApiRefusal(404, "NotFound", f'{resource.qualified} "{name}" not found', **_resource_details(resource, name))


def already_exists(resource: Resource, name: str, *, leaving: bool = False) -> ApiRefusal:
    prefix = "object is being deleted: " if leaving else ""
    message = f'{prefix}{resource.qualified} "{name}" already exists'
    return ApiRefusal(409, "AlreadyExists", message, **_resource_details(resource, name))


def conflict(resource: Resource, name: str, why: str = MODIFIED, *, sub: str = "") -> ApiRefusal:
    target = f"{resource.plural}/{sub}" if sub else resource.qualified
    message = f'Operation cannot be fulfilled on {target} "{name}": {why}'
    return ApiRefusal(409, "Conflict", message, **_resource_details(resource, name) | ({"kind": target} if sub else {}))


def precondition_failed(
    resource: Resource, name: str, subject: str, expected: str, actual: str, happened: str
) -> ApiRefusal:
    """Refuse a deletion whose precondition does not hold."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    message = (
        f'Operation cannot be fulfilled on {kind} "{name}": the {subject} in the precondition ({expected}) '
        f"does not match the {subject} in record ({actual}). The object might have been {happened}"
    )
    return ApiRefusal(409, "Conflict", message, name=name, group=resource.group, kind=resource.kind)


def forbidden(resource: Resource, name: str, why: str) -> ApiRefusal:
    message = f'{resource.qualified} "{name}" is forbidden: {why}'
    return ApiRefusal(403, "Forbidden", message, **_resource_details(resource, name))


def invalid(resource: Resource, name: str, problems: list[Problem]) -> ApiRefusal:
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    causes = [_status_cause(problem) for problem in problems]
    details = {"name": name, "group": resource.group, "kind": resource.kind, "causes": causes}
    return ApiRefusal(422, "Invalid", f'{kind} "{name}" is invalid: {aggregate_problems(problems)}', **details)


def _status_cause(problem: Problem) -> Json:
    """Return a problem (``spec.x: Invalid value: …``) as a cause of a Status."""
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


def another_uid(resource: Resource, namespace: str, name: str, expected: str, actual: str) -> ApiRefusal:
    """Refuse a write about another object of the same name, in the words of the API server's storage."""
    place = _STORED.get(resource.plural, resource.plural)
    key = "/".join(filter(None, ("/registry", place, namespace, name)))
    why = (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition "
        f"failed: UID in precondition: {expected}, UID in object meta: {actual}"
    )
    return conflict(resource, name, why)


# In etcd nodes still have the name from before Kubernetes 1.0.
_STORED = {"nodes": "minions"}


def missing_version(resource: Resource, name: str) -> ApiRefusal:
    """Refuse an update that does not name the version that it changes, though it must."""
    problem = Problem(
        "metadata.resourceVersion", "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    )
    details = {**_resource_details(resource, name), "causes": [_status_cause(problem)]}
    return ApiRefusal(422, "Invalid", f'{resource.qualified} "{name}" is invalid: {problem.text}', **details)


def undecodable(resource: Resource, why: str, raw: Json | None = None) -> ApiRefusal:
    """Refuse an object that cannot be decoded; ``raw`` is given if it says that it is of another kind."""
    kind, version = (resource.kind, resource.version) if raw is None else (raw.get("kind"), raw.get("apiVersion"))
    return bad_request(
        f'{kind} in version "{version or resource.api_version}" cannot be handled as a {resource.kind}: {why}'
    )


def invalid_patch(changed: Json, why: str) -> ApiRefusal:
    """Refuse a patch whose result cannot be decoded."""
    text = json.dumps(changed, separators=(",", ":"))
    problem = invalid_field("patch", text, why)
    return ApiRefusal(422, "Invalid", f' "" is invalid: {problem.text}', causes=[_status_cause(problem)])


def internal_error(message: str) -> ApiRefusal:
    return ApiRefusal(500, "InternalError", f"Internal error occurred: {message}")


def bad_request(message: str) -> ApiRefusal:
    return ApiRefusal(400, "BadRequest", message)


def unknown_path() -> ApiRefusal:
    return ApiRefusal(404, "NotFound", "the server could not find the requested resource")


def not_allowed() -> ApiRefusal:
    return ApiRefusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def unsupported_media_type() -> ApiRefusal:
    return ApiRefusal(415, "UnsupportedMediaType", "415: Unsupported Media Type", causes=[])


def expired(requested: int, oldest: int) -> ApiRefusal:
    return ApiRefusal(410, "Expired", f"too old resource version: {requested} ({oldest})")


def too_many(message: str, seconds: int = 0) -> ApiRefusal:
    return ApiRefusal(429, "TooManyRequests", message, retryAfterSeconds=seconds)


def unauthorized() -> ApiRefusal:
    return ApiRefusal(401, "Unauthorized", "Unauthorized")
