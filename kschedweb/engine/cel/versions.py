"""Semantic versions in CEL expressions, parsed and compared as kube-scheduler's library blang/semver does."""

from __future__ import annotations

import re
from functools import lru_cache

from kschedweb.engine.cel.errors import EvaluationError
from kschedweb.engine.cel.values import UINT_MAX
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.values import dataclass

_NUMBERS = re.compile(r"[0-9]*", re.ASCII)
_WORDS = re.compile(r"[0-9A-Za-z-]*", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """A semantic version."""

    major: int
    minor: int
    patch: int
    # (True if there is no prerelease, identifiers of the prerelease), in a form that compares.
    prerelease_key: tuple[bool, tuple[tuple[int, int, str], ...]]
    # The whole version as it was written.
    text: str

    def compare(self, other: Version) -> int:
        """Return -1, 0 or 1, as this version comes before, with or after ``other``; build metadata is ignored."""
        mine = (self.major, self.minor, self.patch, self.prerelease_key)
        theirs = (other.major, other.minor, other.patch, other.prerelease_key)
        return (mine > theirs) - (mine < theirs)

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=4096)
def parse_version(text: str) -> Version:
    """Parse ``major.minor.patch-prerelease+build``; raise EvaluationError with kube-scheduler's words."""
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    major, minor = _parse_number(parts[0], "major", "Major"), _parse_number(parts[1], "minor", "Minor")
    tail, plus, build = parts[2].partition("+")
    patch, minus, before = tail.partition("-")
    number = _parse_number(patch, "patch", "Patch")
    identifiers = tuple(_prerelease_identifier(word) for word in before.split(".")) if minus else ()
    for word in build.split(".") if plus else ():
        if not word:
            raise EvaluationError("Build meta data is empty")
        if not _WORDS.fullmatch(word):
            raise EvaluationError(f"Invalid character(s) found in build meta data {quote(word)}")
    return Version(major, minor, number, (not identifiers, identifiers), text)


def _parse_number(text: str, name: str, title: str) -> int:
    if not _NUMBERS.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in {name} number {quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"{title} number must not contain leading zeroes {quote(text)}")
    return _parse_uint(text)


def _parse_uint(text: str) -> int:
    if not text:
        raise EvaluationError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > len(str(UINT_MAX)) or int(text) > UINT_MAX:
        raise EvaluationError(f"strconv.ParseUint: parsing {quote(text)}: value out of range")
    return int(text)


def _prerelease_identifier(text: str) -> tuple[int, int, str]:
    """Return an identifier of the prerelease in a form that compares: numbers before words."""
    if not text:
        raise EvaluationError("Prerelease is empty")
    if _NUMBERS.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {quote(text)}")
        return 0, _parse_uint(text), ""
    if not _WORDS.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in prerelease {quote(text)}")
    return 1, 0, text


def parse_tolerant(text: str) -> Version:
    """Parse a version that may begin with v, have leading zeros or lack its last parts."""
    parts = text.removeprefix("v").split(".", 2)
    parts = [_without_zeros(part) for part in parts]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise EvaluationError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return parse_version(".".join(parts))


def _without_zeros(part: str) -> str:
    if len(part.encode()) < 2:
        return part
    bare = part.lstrip("0")
    return bare if bare[:1] in tuple("0123456789") else f"0{bare}"
