"""Kubernetes' own functions: quantities and semantic versions."""

from __future__ import annotations

from kschedweb.engine.cel.errors import EvaluationError, ExpressionError
from kschedweb.engine.cel.functions import Library, Run
from kschedweb.engine.cel.quantities import DECIMAL_EXPONENT, Quantity, to_quantity
from kschedweb.engine.cel.values import INT_MAX, Value
from kschedweb.engine.cel.versions import Version, parse_tolerant, parse_version

LIBRARY = Library()


def is_quantity(text: str) -> bool:
    try:
        to_quantity(text)
    except EvaluationError:
        return False
    return True


def as_integer(amount: Quantity) -> int:
    whole = amount.whole()
    if whole is None:
        raise EvaluationError("cannot convert value to integer")
    return whole


def read_version(text: str, normalize: bool = False) -> Version:
    return parse_tolerant(text) if normalize else parse_version(text)


def is_version(text: str, normalize: bool = False) -> bool:
    try:
        read_version(text, normalize)
    except EvaluationError:
        return False
    return True


# Functions that return a new quantity, which nothing else can refer to.
FRESH = frozenset(("quantity", "add", "sub"))
_SUMS, _COMPARISONS = ("add", "sub"), ("compareTo", "isGreaterThan", "isLessThan")
# Functions whose result shows that a quantity was changed.
_TELLING = frozenset((*_SUMS, "asInteger", "isInteger"))


def guard_mutation(name: str, run: Run, names: set[str], *, sums: bool) -> Run:
    """Return ``run``, guarded for a quantity that other parts of the expression may use.

    kube-scheduler changes a quantity with many digits when it adds to it (if ``sums``), and turns others into such when
    it compares them; quantities of the ResourceSlice are changed for good. Where an expression with the functions
    ``names`` could show that, the guard raises ExpressionError.
    """
    if not (sums and name in _SUMS) and not (name in _COMPARISONS and names & _TELLING):
        return run

    def run_guarded(*values: Value) -> Value:
        first, other = values[0], values[-1]
        if type(first) is Quantity:
            if name in _SUMS and first.big:
                raise ExpressionError("kube-scheduler changes a quantity that it adds to or subtracts from")
            if name in _COMPARISONS and not first.big and type(other) is Quantity and other.big:
                raise ExpressionError("kube-scheduler changes a quantity that it compares")
        return run(*values)

    return run_guarded


def _declare_functions() -> None:
    add = LIBRARY.add_overloads
    add("quantity", "string -> kubernetes.Quantity", to_quantity)
    add("isQuantity", "string -> bool", is_quantity)
    amount, two = "kubernetes.Quantity", "kubernetes.Quantity, kubernetes.Quantity"
    add("sign", f"{amount} -> int", lambda operand: (operand.unscaled > 0) - (operand.unscaled < 0))
    add("asApproximateFloat", f"{amount} -> double", Quantity.number, member=True)
    add("asInteger", f"{amount} -> int", as_integer, member=True)
    add("isInteger", f"{amount} -> bool", lambda operand: operand.whole() is not None, member=True)
    add("add", f"{two} -> {amount}", Quantity.plus, member=True)
    add(
        "add",
        f"{amount}, int -> {amount}",
        lambda operand, other: operand.plus(Quantity(other, 0, format=DECIMAL_EXPONENT)),
        member=True,
    )
    add("sub", f"{two} -> {amount}", lambda operand, other: operand.plus(other, -1), member=True)
    add(
        "sub",
        f"{amount}, int -> {amount}",
        lambda operand, other: operand.plus(Quantity(other, 0, format=DECIMAL_EXPONENT), -1),
        member=True,
    )
    for kind, compare in (("kubernetes.Quantity", Quantity.compare), ("kubernetes.Semver", Version.compare)):
        both = f"{kind}, {kind}"
        add("isGreaterThan", f"{both} -> bool", _comparison(compare, 1), member=True)
        add("isLessThan", f"{both} -> bool", _comparison(compare, -1), member=True)
        add("compareTo", f"{both} -> int", compare, member=True)
    add("semver", "string -> kubernetes.Semver", parse_version)
    add("semver", "string, bool -> kubernetes.Semver", read_version)
    add("isSemver", "string -> bool", is_version)
    add("isSemver", "string, bool -> bool", is_version)
    for place, name in enumerate(("major", "minor", "patch")):
        add(name, "kubernetes.Semver -> int", _version_part(place), member=True)


def _comparison(compare: Run, expected: int) -> Run:
    return lambda operand, other: compare(operand, other) == expected


def _version_part(place: int) -> Run:
    def part(semver: Version) -> int:
        number = (semver.major, semver.minor, semver.patch)[place]
        return number if number <= INT_MAX else number - (1 << 64)  # as Go puts it into 64 bits with a sign

    return part


_declare_functions()
