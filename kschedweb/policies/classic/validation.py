"""Validates a Policy with the classic engine; every problem has its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from kschedweb.engine.documents.marked import Document, DocumentError, MarkedProblem, Path, parse
from kschedweb.engine.objects.access import ObjectError
from kschedweb.engine.releases.classic import PolicyError, Registry, edition_of, load_policy
from kschedweb.engine.validation.fields import Problem as EngineProblem
from kschedweb.policies.dialect import Kind
from kschedweb.policies.editing.switches import as_dict, as_list
from kschedweb.policies.validation import KEY, LINE, steps, written

if TYPE_CHECKING:
    from kschedweb.engine.releases.classic import Algorithm, LoadedPolicy
    from kschedweb.web.errors import FieldProblem

# Misspelt fields of published samples, which are read as intended.
MISSPELT = {"predicates": "predicate", "priorities": "priority"}


@dataclass(frozen=True)
class ClassicChecked:
    """A text with the engine's findings; ``algorithm`` is ``None`` if it cannot run.

    ``process`` has the start options of kube-scheduler; its problems are among the errors, under ``process``.
    """

    kind: ClassVar[Kind] = Kind.CLASSIC
    notes: ClassVar[list[FieldProblem]] = []
    conversion: ClassVar[None] = None  # a Policy stays one; the page As a profile converts it

    text: str
    process: Mapping[str, Any]
    document: Document | None
    loaded: LoadedPolicy | None = None
    algorithm: Algorithm | None = None
    errors: list[MarkedProblem] = field(default_factory=list)
    warnings: list[MarkedProblem] = field(default_factory=list)
    secrets: list[MarkedProblem] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        return self.algorithm is not None


def check_classic(text: str, process: Mapping[str, Any]) -> ClassicChecked:
    """Read ``text`` as the classic kube-scheduler does; never raises for bad input."""
    try:
        document = parse(text)
    except DocumentError as error:
        return ClassicChecked(text, process, None, errors=[error.problem])
    loaded = load_policy(text)
    algorithm, errors = _algorithm(loaded, process, document)
    secrets = list(_secrets(document))
    warnings = [
        *(_placed(one, document) for one in loaded.warnings),
        *_never_asked(loaded, algorithm, document),
        *secrets,
    ]
    return ClassicChecked(text, process, document, loaded, algorithm, errors, warnings, secrets)


def _algorithm(
    loaded: LoadedPolicy, process: Mapping[str, Any], document: Document
) -> tuple[Algorithm | None, list[MarkedProblem]]:
    """The algorithm, or the errors if it cannot run."""
    errors = [_placed(one, document) for one in loaded.problems]
    try:
        edition = edition_of(dict(process), "process.")
    except ObjectError as error:
        path = str(error).partition(": ")[0]
        return None, [*errors, MarkedProblem(str(error), path, keys=steps(path))]
    if loaded.policy is None:
        return None, errors
    try:
        return Registry(edition).algorithm(loaded.policy), errors
    except PolicyError as error:
        return None, [_placed(one, document) for one in error.problems]


def _placed(problem: EngineProblem, document: Document) -> MarkedProblem:
    """``problem`` with its line; a problem of the text itself has the line in its message."""
    named = LINE.search(problem.text)
    if not problem.path and named:
        return MarkedProblem(problem.text, line=max(int(named[1]), 1))
    keys = _as_written(steps(problem.path), document.data)
    line, column, end = document.place(keys)
    message = f"{problem.path}: {problem.text}" if problem.path else problem.text
    return MarkedProblem(message, written(keys), line, column, end, keys)


def _as_written(keys: Path, data: Any) -> Path:
    """``keys`` with the spelling of ``data``: misspelt lists, and fields in upper or lower case."""
    found: list[str | int] = []
    for place, key in enumerate(keys):
        if isinstance(key, str):
            data = as_dict(data)
            spelt = MISSPELT.get(key) if not place and key not in data else None
            key = next((one for one in data if one == spelt or one.lower() == key.lower()), key)
            data = data.get(key)
        else:
            data = dict(enumerate(as_list(data))).get(key)
        found.append(key)
    return tuple(found)


def _never_asked(loaded: LoadedPolicy, algorithm: Algorithm | None, document: Document) -> Iterator[MarkedProblem]:
    chosen = (loaded.policy.predicates if loaded.policy else None) or ()
    for number, choice in enumerate(chosen):
        if algorithm is not None and choice.name in algorithm.never_asked:
            said = f"{choice.name} is never asked: it has no place in the fixed order of predicates"
            yield _placed(EngineProblem(f"predicates[{number}].name", said), document)


def _secrets(document: Document) -> Iterator[MarkedProblem]:
    for index, extender in enumerate(as_list(as_dict(document.data).get("extenders"))):
        for name, value in as_dict(extender).items():
            if name.lower() == "tlsconfig" and any(
                given and key.lower() == KEY.lower() for key, given in as_dict(value).items()
            ):
                said = "a private key cannot be saved here, since all can read it: use keyFile"
                yield _placed(EngineProblem(f"extenders[{index}].tlsConfig.{KEY}", said), document)
