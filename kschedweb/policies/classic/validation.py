"""Validates a Policy with the classic engine; every problem has its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from kschedweb.engine.documents.marked_documents import (
    MarkedDocument,
    MarkedDocumentError,
    MarkedProblem,
    Path,
    parse_document,
)
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.releases.classic import PolicyError, Registry, edition_of, load_policy
from kschedweb.engine.validation.fields import Problem as EngineProblem
from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.editing.switches import as_dict, as_list
from kschedweb.policies.validation import KEY, LINE, join_path, split_path

if TYPE_CHECKING:
    from kschedweb.engine.releases.classic import Algorithm, LoadedPolicy
    from kschedweb.web.errors import FieldProblem

# Misspelt fields of published samples, which are read as intended.
MISSPELT = {"predicates": "predicate", "priorities": "priority"}


@dataclass(frozen=True)
class ClassicChecked:
    """A classic policy with the engine's findings."""

    kind: ClassVar[PolicyKind] = PolicyKind.CLASSIC
    notes: ClassVar[list[FieldProblem]] = []
    # A Policy stays a Policy; the page "As a profile" converts it.
    conversion: ClassVar[None] = None

    text: str
    # The start options of kube-scheduler. Their problems are among the errors, under "process".
    process: Mapping[str, Any]
    # The parsed text; None if it is neither YAML nor JSON.
    document: MarkedDocument | None
    loaded: LoadedPolicy | None = None
    # The algorithm that runs; None if it cannot be built.
    algorithm: Algorithm | None = None
    errors: list[MarkedProblem] = field(default_factory=list)
    warnings: list[MarkedProblem] = field(default_factory=list)
    # Problems of private keys, which must not be stored. They are among the warnings too.
    secrets: list[MarkedProblem] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        return self.algorithm is not None


def check_classic(text: str, process: Mapping[str, Any]) -> ClassicChecked:
    """Check ``text`` as the classic kube-scheduler reads it. Bad input never raises; it becomes errors."""
    try:
        document = parse_document(text)
    except MarkedDocumentError as error:
        return ClassicChecked(text, process, None, errors=[error.problem])
    loaded = load_policy(text)
    algorithm, errors = _load_algorithm(loaded, process, document)
    secrets = list(_secret_problems(document))
    warnings = [
        *(_mark_problem(problem, document) for problem in loaded.warnings),
        *_never_asked(loaded, algorithm, document),
        *secrets,
    ]
    return ClassicChecked(text, process, document, loaded, algorithm, errors, warnings, secrets)


def _load_algorithm(
    loaded: LoadedPolicy, process: Mapping[str, Any], document: MarkedDocument
) -> tuple[Algorithm | None, list[MarkedProblem]]:
    """Return the algorithm, or the errors if it cannot run."""
    errors = [_mark_problem(problem, document) for problem in loaded.problems]
    try:
        edition = edition_of(dict(process), "process.")
    except ObjectError as error:
        path = str(error).partition(": ")[0]
        return None, [*errors, MarkedProblem(str(error), path, keys=split_path(path))]
    if loaded.policy is None:
        return None, errors
    try:
        return Registry(edition).build_algorithm(loaded.policy), errors
    except PolicyError as error:
        return None, [_mark_problem(problem, document) for problem in error.problems]


def _mark_problem(problem: EngineProblem, document: MarkedDocument) -> MarkedProblem:
    """Return ``problem`` with its line. A problem of the text itself has the line in its message."""
    match = LINE.search(problem.text)
    if not problem.path and match:
        return MarkedProblem(problem.text, line=max(int(match[1]), 1))
    keys = _as_written(split_path(problem.path), document.data)
    line, column, end = document.place(keys)
    message = f"{problem.path}: {problem.text}" if problem.path else problem.text
    return MarkedProblem(message, join_path(keys), line, column, end, keys)


def _as_written(keys: Path, data: Any) -> Path:
    """Return ``keys`` as ``data`` spells them: misspelt lists, and fields in upper or lower case."""
    actual_keys: list[str | int] = []
    for place, key in enumerate(keys):
        if isinstance(key, str):
            # Go's JSON decoder ignores the case of field names, so the document may spell them in any.
            data = as_dict(data)
            spelt = MISSPELT.get(key) if not place and key not in data else None
            key = next((name for name in data if name == spelt or name.lower() == key.lower()), key)
            data = data.get(key)
        else:
            data = dict(enumerate(as_list(data))).get(key)
        actual_keys.append(key)
    return tuple(actual_keys)


def _never_asked(
    loaded: LoadedPolicy, algorithm: Algorithm | None, document: MarkedDocument
) -> Iterator[MarkedProblem]:
    chosen = (loaded.policy.predicates if loaded.policy else None) or ()
    for number, choice in enumerate(chosen):
        if algorithm is not None and choice.name in algorithm.never_asked:
            message = f"{choice.name} is never asked: it has no place in the fixed order of predicates"
            yield _mark_problem(EngineProblem(f"predicates[{number}].name", message), document)


def _secret_problems(document: MarkedDocument) -> Iterator[MarkedProblem]:
    for index, extender in enumerate(as_list(as_dict(document.data).get("extenders"))):
        for name, value in as_dict(extender).items():
            # Field names are compared without case, as Go's JSON decoder does: a key in another case would be read too.
            if name.lower() == "tlsconfig" and any(
                content and key.lower() == KEY.lower() for key, content in as_dict(value).items()
            ):
                message = "a private key cannot be saved here, since all can read it: use keyFile"
                yield _mark_problem(EngineProblem(f"extenders[{index}].tlsConfig.{KEY}", message), document)
