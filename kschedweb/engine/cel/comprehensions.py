"""Evaluation of macros. An error does not end a macro at once: a later element can still decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kschedweb.engine.cel.cost import Frame, Run, spend_steps
from kschedweb.engine.cel.errors import EvaluationError, no_such_overload
from kschedweb.engine.cel.macros import ALL, ENTRIES, EXISTS, EXISTS_ONE, INSERT, LIST, MAP
from kschedweb.engine.cel.values import LISTS, MISSING, TYPE_NAMES, Growing, Mapping, Value, format_value, go_name
from kschedweb.engine.values import dataclass

# Stands in the frame for a variable of cel.bind that was not read yet.
UNSET = object()


@dataclass(frozen=True, slots=True)
class Loop:
    """The iteration of a macro over a list or map."""

    # Computes the list or map.
    over: Run
    # Indexes of the macro's one or two variables in the frame.
    slots: tuple[int, ...]
    # Computes the condition, if the macro has one.
    filter: Run | None
    # Computes the value of each element, if the macro has one.
    value: Run | None

    def iterate(self, frame: Frame) -> Iterable[Value]:
        """Assign each element to the variables in turn; yield the value of the first variable."""
        single = len(self.slots) == 1
        elements = _iterate_elements(self.over(frame), single=single)
        first, second = self.slots[0], self.slots[-1]
        for element in elements:
            spend_steps(frame, 1)
            if single:
                frame[first] = element
                yield element
            else:
                frame[first], frame[second] = element
                yield element[0]


def _iterate_elements(over: Value, *, single: bool) -> Iterable[Value]:
    if type(over) in LISTS:
        # A copy, as the body may append to a list that grows.
        values = list(over)
        return values if single else enumerate(values)
    if isinstance(over, Mapping):
        return list(over.keys() if single else over.items())
    name = go_name(over)
    raise EvaluationError(
        f"got '{name}', expected iterable type" if single else f"unsupported comprehension range type: {name}"
    )


def make_comprehension(kind: str, loop: Loop) -> Run:
    """Return the function that computes a macro of this kind."""
    return {
        ALL: _decided_by(loop, False),
        EXISTS: _decided_by(loop, True),
        EXISTS_ONE: _exactly_one(loop),
        LIST: _make_list(loop),
        MAP: _make_map(loop, _insert_entry),
        ENTRIES: _make_map(loop, _insert_entries),
    }[kind]


def _eval_condition(run: Run | None, frame: Frame) -> bool:
    """Return the value of a condition, True if there is none; raise EvaluationError if it is no bool."""
    value = run(frame) if run else True
    if value is not True and value is not False:
        raise no_such_overload()
    return bool(value)


def _decided_by(loop: Loop, decisive: bool) -> Run:
    """Compute ``all`` or ``exists``: the first ``decisive`` element, else the first error, else the opposite."""

    def run(frame: Frame) -> bool:
        problem: EvaluationError | None = None
        for _ in loop.iterate(frame):
            try:
                if _eval_condition(loop.filter, frame) is decisive:
                    return decisive
            except EvaluationError as error:
                problem = problem or error
        if problem:
            raise problem
        return not decisive

    return run


def _exactly_one(loop: Loop) -> Run:
    """Compute ``exists_one``; of several errors the last one counts, as in cel-go."""

    def run(frame: Frame) -> bool:
        count, problem = 0, None
        for _ in loop.iterate(frame):
            try:
                count += _eval_condition(loop.filter, frame)
            except EvaluationError as error:
                problem = error
        if problem:
            raise problem
        return count == 1

    return run


def _collect_values(loop: Loop, frame: Frame, take: Callable[[Value, Value], None], *, all_values: bool) -> None:
    """Pass the first variable and the value of every element that meets the filter to ``take``.

    The first error of a value counts, unless a filter fails after it: then the last error of a filter counts.
    ``all_values`` computes values after an error too.
    """
    assert loop.value is not None
    problem: EvaluationError | None = None
    for first in loop.iterate(frame):
        try:
            accepted = _eval_condition(loop.filter, frame)
        except EvaluationError as error:
            problem = error
            continue
        if accepted and (all_values or problem is None):
            try:
                value = loop.value(frame)
                if problem is None:
                    take(first, value)
            except EvaluationError as error:
                problem = problem or error
    if problem:
        raise problem


def _make_list(loop: Loop) -> Run:
    def run(frame: Frame) -> list[Value]:
        result: list[Value] = []
        _collect_values(loop, frame, lambda _, value: result.append(value), all_values=True)
        return result

    return run


def _make_map(loop: Loop, insert: Callable[[Mapping, Value, Value], None]) -> Run:
    def run(frame: Frame) -> Mapping:
        result = Mapping({})
        _collect_values(loop, frame, lambda first, value: insert(result, first, value), all_values=False)
        return result

    return run


def _insert_entry(target: Mapping, key: Value, value: Value) -> None:
    if target.find(key) is not MISSING:
        raise EvaluationError(f"insert failed: key {format_value(key)} already exists")
    target.entries[key if type(key) is str else (type(key), key)] = value


def _insert_entries(target: Mapping, _: Value, value: Value) -> None:
    if not isinstance(value, Mapping):
        raise EvaluationError(f"no such overload: {INSERT}(map, {TYPE_NAMES[type(value)]})")
    for key, item in value.items():
        _insert_entry(target, key, item)


def make_bind(slot: int, body: Run) -> Run:
    """Compute ``cel.bind``: the variable in ``slot`` is computed when ``body`` first reads it."""

    def run(frame: Frame) -> Value:
        frame[slot] = UNSET
        value = body(frame)
        # Outside of the bind the list grows no more.
        return list(value) if type(value) is Growing else value

    return run


def read_bound(slot: int, start: Run) -> Run:
    """Return the reader of the variable of ``cel.bind`` that ``start`` computes."""

    def read(frame: Frame) -> Value:
        value = frame[slot]
        if value is UNSET:
            try:
                value = start(frame)
            except EvaluationError as error:
                value = error
            # In cel-go an empty list that starts an accumulator is mutable, and `+` appends to it.
            if type(value) in LISTS and not value:
                value = Growing()
            frame[slot] = value
        if type(value) is EvaluationError:
            raise EvaluationError(str(value))
        return value

    return read
