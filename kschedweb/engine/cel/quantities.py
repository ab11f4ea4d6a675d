"""Quantities in CEL expressions: exact, with what Kubernetes remembers of their notation.

``kschedweb.engine.objects.quantity`` reads the amounts that a scheduler counts. Here negative, unbounded and malformed
ones matter too, and ``asInteger`` depends on how the quantity came about.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kschedweb.engine.cel.errors import EvaluationError, ExpressionError
from kschedweb.engine.validation.golang import INT64_MAX, parse_int
from kschedweb.engine.values import dataclass

_NANO = -9
_FORM = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_WRONG_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_WRONG_SUFFIX = "unable to parse quantity's suffix"
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIXES = {0: ""} | {power: suffix for suffix, power in _BINARY.items()}
# Digits up to which Kubernetes keeps a quantity as an int64 (`int64Amount`); above it uses `inf.Dec`.
_DIGITS, _BINARY_DIGITS = 18, 15
# Bounds of our own, on the power of ten and the characters of a quantity.
_MAX_EXPONENT, _MAX_LENGTH = 400, 1000
DECIMAL_SI, BINARY_SI, DECIMAL_EXPONENT = "DecimalSI", "BinarySI", "DecimalExponent"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity: ``unscaled`` times 10 to the power of ``exponent``."""

    unscaled: int
    # -9 or more.
    exponent: int
    # True if Kubernetes keeps it with any number of digits (`inf.Dec`); then it gives no whole number.
    big: bool = False
    format: str = DECIMAL_SI
    # True for a result of add() or sub(), which no quantity on the left equals.
    computed: bool = False

    @property
    def nano(self) -> int:
        """The amount in nano-units."""
        return int(self.unscaled * 10 ** (self.exponent - _NANO))

    def compare(self, other: Quantity) -> int:
        """Return -1, 0 or 1, as this quantity is less than, equal to or greater than ``other``."""
        if self.exponent == other.exponent:
            return (self.unscaled > other.unscaled) - (self.unscaled < other.unscaled)
        return (self.nano > other.nano) - (self.nano < other.nano)

    def whole(self) -> int | None:
        """Return the amount as a whole number of 64 bits, None where Kubernetes gives none."""
        if self.big or self.exponent < 0:
            return None
        amount = int(self.unscaled * 10**self.exponent)
        return amount if -INT64_MAX - 1 <= amount <= INT64_MAX else None

    def number(self) -> float:
        """Return the amount as the nearest double that Kubernetes computes."""
        return float(self.unscaled) * float(f"1e{self.exponent}") if self.exponent else float(self.unscaled)

    def plus(self, other: Quantity, sign: int = 1) -> Quantity:
        """Return the sum, or with ``sign`` -1 the difference."""
        form = self.format if self.unscaled else other.format
        if not self.big and not other.big:
            small_sum = self._plus_small(other, sign)
            if small_sum is not None:
                return Quantity(*small_sum, format=form, computed=True)
        exponent = min(self.exponent, other.exponent)
        total = self.unscaled * 10 ** (self.exponent - exponent) + sign * other.unscaled * 10 ** (
            other.exponent - exponent
        )
        return Quantity(total, exponent, big=True, format=form, computed=True)

    def _plus_small(self, other: Quantity, sign: int) -> tuple[int, int] | None:
        """Return the sum within 64 bits as (unscaled, exponent), None if it does not fit."""
        if not other.unscaled:
            return self.unscaled, self.exponent
        # In Go the lowest int64 is its own negative.
        amount = other.unscaled if other.unscaled == -INT64_MAX - 1 else sign * other.unscaled
        if not self.unscaled:
            return amount, other.exponent
        exponent = min(self.exponent, other.exponent)
        lhs = self.unscaled * 10 ** (self.exponent - exponent)
        rhs = amount * 10 ** (other.exponent - exponent)
        fits = all(-INT64_MAX - 1 <= number <= INT64_MAX for number in (lhs, rhs, lhs + rhs))
        return (lhs + rhs, exponent) if fits else None

    def __str__(self) -> str:
        """Return the canonical form, as Kubernetes writes it."""
        if not self.unscaled:
            return "0"
        nano = self.nano
        small = abs(nano) < 1024 * 10**9
        if self.format == BINARY_SI and not small and nano % 10**9 == 0:
            amount, power = nano // 10**9, 0
            while amount % 1024 == 0 and power < max(_BINARY_SUFFIXES):
                amount, power = amount // 1024, power + 10
            return f"{amount}{_BINARY_SUFFIXES[power]}"
        amount, power = nano, _NANO
        highest = max(_DECIMAL_SUFFIXES)
        while amount % 1000 == 0 and (self.format == DECIMAL_EXPONENT or power < highest):
            amount, power = amount // 1000, power + 3
        if self.format == DECIMAL_EXPONENT:
            return f"{amount}e{power}" if power else f"{amount}"
        return f"{amount}{_DECIMAL_SUFFIXES[power]}"


@lru_cache(maxsize=4096)
def to_quantity(text: str) -> Quantity:
    """Read ``text`` as Kubernetes' `ParseQuantity` does; raise EvaluationError with its words."""
    match = _FORM.fullmatch(text)
    if len(text) > _MAX_LENGTH:
        raise ExpressionError("it reads a quantity that is too long")
    if not match or not text:
        raise EvaluationError(_WRONG_FORM)
    sign, digits, fraction, suffix = match.groups(default="")
    power, format_ = _parse_suffix(suffix)
    # Kubernetes estimates the digits of a binary quantity from its suffix: three for every ten bits.
    binary = format_ == BINARY_SI
    unscaled, exponent = int((digits + fraction) or "0"), power * (not binary) - len(fraction)
    if binary:
        room = _BINARY_DIGITS - len(digits or "0") - int(power * 3 / 10) - 1 if not fraction else -1
    else:
        room = _DIGITS - len(digits or "0") - len(fraction)
    amount = unscaled << power if binary else unscaled
    way = -1 if sign == "-" else 1
    if room >= 0 and exponent >= _NANO and amount <= INT64_MAX:
        return Quantity(way * amount, exponent, format=format_)
    return _make_big(way, amount, exponent, format_)


def _make_big(way: int, amount: int, exponent: int, format_: str) -> Quantity:
    """Return a quantity that Kubernetes does not keep in 64 bits: in nano-units, rounded up."""
    if amount:
        step = exponent - _NANO
        amount = amount * 10**step if step >= 0 else -(-amount // 10**-step)
    if format_ == BINARY_SI:
        # `ParseQuantity` caps binary quantities at the highest int64.
        amount = min(amount, INT64_MAX * 10**9)
        if 0 < amount < 10**9:
            format_ = DECIMAL_SI
    return Quantity(way * amount, _NANO, big=True, format=format_)


def _parse_suffix(suffix: str) -> tuple[int, str]:
    """Return the power of 10, or of 2 for BINARY_SI, that a suffix stands for, and its format."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], DECIMAL_SI
    if suffix in _BINARY:
        return _BINARY[suffix], BINARY_SI
    power = parse_int(suffix[1:]) if suffix[:1] in ("e", "E") else None
    if power is None:
        raise EvaluationError(_WRONG_SUFFIX)
    if abs(power) > _MAX_EXPONENT:
        raise ExpressionError("it reads a quantity with an exponent out of range")
    return power, DECIMAL_EXPONENT
