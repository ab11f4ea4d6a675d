"""crane-scheduler's policy file, a DynamicSchedulerPolicy, read as strictly as its own decoder reads it.

The decoder is the one of Kubernetes, and so are its messages. It checks nothing else. Policies that would stop
crane-scheduler's controller (a count of 0) or mean nothing (a rule without a metric) are refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kschedweb.engine.config.decode import DecodeError, decode
from kschedweb.engine.config.document import RefusedError, find_repetition, object_kind, refusal
from kschedweb.engine.config.reading import read_document
from kschedweb.engine.config.source import UnreadableError
from kschedweb.engine.config.types import STRING, Struct, StructField, encode
from kschedweb.engine.documents.json_schema import DIALECT, Schemas
from kschedweb.engine.json_types import Json
from kschedweb.engine.plugins.dynamic.arguments import POLICY, policy_advice, policy_problems
from kschedweb.engine.state.watermarks import crane
from kschedweb.engine.validation.fields import Problem
from kschedweb.engine.values import dataclass

GROUP, KIND = "scheduler.policy.crane.io", "DynamicSchedulerPolicy"
API_VERSION = f"{GROUP}/v1alpha1"
# The place in the source of crane-scheduler's decoder that its errors about unknown kinds name.
SCHEME = "pkg/runtime/scheme.go:100"
FAILED = "failed to get scheduler policy from config file"
DOCUMENT = Struct(
    f"v1alpha1.{KIND}",
    "The policy file of crane-scheduler's plugin Dynamic.",
    (
        StructField("kind", STRING, f"Always {KIND}.", enum=(KIND,)),
        StructField("apiVersion", STRING, f"Always {API_VERSION}.", enum=(API_VERSION,)),
        StructField("spec", POLICY, "Which metrics there are, and what they decide.", omit_empty=False),
    ),
)


@dataclass(frozen=True)
class PolicyFile:
    """The result of reading a policy file."""

    # The decoder's words.
    errors: list[str] = field(default_factory=list)
    # The same errors one by one, each at the path of its field.
    problems: list[Problem] = field(default_factory=list)
    # Parts without effect, as (path, sentence).
    warnings: list[tuple[str, str]] = field(default_factory=list)
    # The decoded spec, with durations in nanoseconds; ``None`` if the file is refused.
    policy: Json | None = None

    @property
    def spec(self) -> Json:
        """The spec as plain JSON, as Dynamic's arguments have it; {} if the file is refused."""
        spec: Json = {} if self.policy is None else encode(POLICY, self.policy)
        return spec

    def to_dict(self) -> Json:
        """Return the result for the command line: ``valid`` and, if there are any, errors, warnings, defaulted."""
        parts = {
            "errors": self.errors,
            "warnings": [f"{path}: {sentence}" for path, sentence in self.warnings],
            "defaulted": {"spec": self.spec} if self.policy is not None else {},
        }
        return {"valid": self.policy is not None, **{name: value for name, value in parts.items() if value}}


def is_policy_file(text: str) -> bool:
    """Return whether ``text`` is a policy file by its kind or version."""
    try:
        value = read_document(text).value
    except UnreadableError:
        return False
    return isinstance(value, dict) and (
        value.get("kind") == KIND or str(value.get("apiVersion")).startswith(f"{GROUP}/")
    )


def load_policy_file(document: str | bytes | Mapping[str, Any]) -> PolicyFile:
    """Read YAML or JSON text. It never raises for the text's contents."""
    try:
        policy = _decode_policy(document)
    except RefusedError as refused:
        return PolicyFile(refused.errors, refused.problems)
    return PolicyFile(warnings=policy_advice(policy, "spec"), policy=policy)


def policy_of(text: str) -> Json:
    """Return the decoded spec of a file, as the argument ``policy``.

    Raises RefusedError with crane-scheduler's words.
    """
    try:
        return _decode_policy(text)
    except RefusedError as refused:
        raise RefusedError([f"{FAILED}: {'; '.join(refused.errors)}"], refused.problems) from refused


def file_schema() -> Json:
    """Return the JSON Schema of a policy file."""
    return {"$schema": DIALECT, "title": KIND, **Schemas().struct_schema(DOCUMENT)}


def shipped_policy() -> Json:
    """Return the file that crane-scheduler ships."""
    return {"apiVersion": API_VERSION, "kind": KIND, "spec": crane.SAMPLE_POLICY}


def _decode_policy(document: str | bytes | Mapping[str, Any]) -> Json:
    try:
        source = read_document(document)
    except UnreadableError as error:
        raise refusal("", str(error)) from None
    object_kind(source.value, source.text, {KIND}, SCHEME, version=API_VERSION)
    try:
        decoded = decode(DOCUMENT, source.value)
    except DecodeError as error:
        raise refusal(error.problem.path, error.problem.text) from error
    strict = [problem for problem in (find_repetition(source), *decoded.strict) if problem]
    if strict:
        message = ", ".join(problem.text for problem in strict)
        raise RefusedError([f"strict decoding error: {message}"], strict)
    policy: Json = decoded.value["spec"]
    if problems := policy_problems(policy, "spec"):
        raise RefusedError([problem.text for problem in problems], problems)
    return policy
