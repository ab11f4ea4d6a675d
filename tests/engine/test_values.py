"""Data classes of the engine are those of the standard library, held against it."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, ClassVar

import pytest

from kschedweb.engine.values import dataclass

MAKERS = {"frozen": {"frozen": True}, "both": {"frozen": True, "slots": True}, "slots": {"slots": True}, "open": {}}
Make = Callable[[type], type]


def example(make: Make) -> type:
    class Example:
        known: ClassVar[list[int]] = []
        name: str
        size: int = 1
        parts: list[int] = field(default_factory=list, compare=False)
        secret: str = field(default="s", repr=False, kw_only=True)
        made: list[int] = field(init=False, default_factory=list, hash=False)
        unit: str = field(init=False, default="points")

        def __post_init__(self) -> None:
            self.known.append(self.size)

    return make(Example)


@pytest.fixture(params=MAKERS)
def pair(request: pytest.FixtureRequest) -> tuple[type, type]:
    """The example as the engine makes it, and as the standard library does."""
    options: dict[str, Any] = MAKERS[request.param]
    return example(dataclass(**options)), example(dataclasses.dataclass(**options))


def told(made: Any) -> list[Any]:
    one, other = made("a", parts=[1]), made("a", 1, [2], secret="s")
    third = replace(one, size=3, secret="t")
    hashes = [] if made.__hash__ is None else [hash(one), hash(third)]
    shown = [repr(each).rpartition(".")[2] for each in (one, third)]
    equal = [one == other, one == third, one != third, one == "a", copy.copy(one) == one, copy.deepcopy(third) == third]
    names = [each.name for each in dataclasses.fields(made)]
    return [shown, equal, hashes, names, dataclasses.asdict(third), made.known, made.__match_args__]


def test_what_they_are_and_say_is_the_same(pair: tuple[type, type]) -> None:
    ours, theirs = map(told, pair)
    assert ours == theirs


def test_arguments_are_the_same(pair: tuple[type, type]) -> None:
    ours, theirs = ([(one.name, one.kind) for one in inspect.signature(made).parameters.values()] for made in pair)
    assert ours == theirs
    for made in pair:
        with pytest.raises(TypeError):
            made()


@pytest.mark.parametrize("kind", MAKERS)
def test_what_is_frozen_stays(kind: str) -> None:
    one = example(dataclass(**MAKERS[kind]))("a")  # type: ignore[call-overload]
    if "frozen" not in MAKERS[kind]:
        one.size = 2
        assert one.size == 2
        return
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'size'"):
        one.size = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'size'"):
        del one.size


@dataclass(frozen=True, slots=True, order=True)
class Ordered:
    number: int
    text: str = ""

    def __hash__(self) -> int:
        return 7


def test_one_with_slots_goes_into_another_process() -> None:
    assert pickle.loads(pickle.dumps(Ordered(1, "a"))) == Ordered(1, "a")
    assert not hasattr(Ordered(1), "__dict__")


def test_a_method_of_the_class_itself_stays_and_order_is_that_of_fields() -> None:
    assert hash(Ordered(1)) == 7
    assert sorted([Ordered(2), Ordered(1, "b"), Ordered(1, "a")]) == [Ordered(1, "a"), Ordered(1, "b"), Ordered(2)]
    assert Ordered(1) >= Ordered(1)


def test_what_holds_itself_is_shown() -> None:
    one = example(dataclass())("a")
    one.parts.append(one)
    assert "..." in repr(one)
