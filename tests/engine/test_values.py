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
        sizes: ClassVar[list[int]] = []
        name: str
        size: int = 1
        parts: list[int] = field(default_factory=list, compare=False)
        secret: str = field(default="s", repr=False, kw_only=True)
        built: list[int] = field(init=False, default_factory=list, hash=False)
        unit: str = field(init=False, default="points")

        def __post_init__(self) -> None:
            self.sizes.append(self.size)

    return make(Example)


@pytest.fixture(params=MAKERS)
def pair(request: pytest.FixtureRequest) -> tuple[type, type]:
    """The example as the engine makes it, and as the standard library does."""
    options: dict[str, Any] = MAKERS[request.param]
    return example(dataclass(**options)), example(dataclasses.dataclass(**options))


def describe_class(example_class: Any) -> list[Any]:
    first, other = example_class("a", parts=[1]), example_class("a", 1, [2], secret="s")
    third = replace(first, size=3, secret="t")
    hashes = [] if example_class.__hash__ is None else [hash(first), hash(third)]
    reprs = [repr(instance).rpartition(".")[2] for instance in (first, third)]
    equal = [
        first == other,
        first == third,
        first != third,
        first == "a",
        copy.copy(first) == first,
        copy.deepcopy(third) == third,
    ]
    names = [field_info.name for field_info in dataclasses.fields(example_class)]
    return [reprs, equal, hashes, names, dataclasses.asdict(third), example_class.sizes, example_class.__match_args__]


def test_what_they_are_and_say_is_the_same(pair: tuple[type, type]) -> None:
    ours, theirs = map(describe_class, pair)
    assert ours == theirs


def test_arguments_are_the_same(pair: tuple[type, type]) -> None:
    ours, theirs = (
        [(parameter.name, parameter.kind) for parameter in inspect.signature(class_of_pair).parameters.values()]
        for class_of_pair in pair
    )
    assert ours == theirs
    for example_class in pair:
        with pytest.raises(TypeError):
            example_class()


@pytest.mark.parametrize("kind", MAKERS)
def test_what_is_frozen_stays(kind: str) -> None:
    options: dict[str, Any] = MAKERS[kind]
    instance = example(dataclass(**options))("a")
    if "frozen" not in MAKERS[kind]:
        instance.size = 2
        assert instance.size == 2
        return
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'size'"):
        instance.size = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'size'"):
        del instance.size


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
    instance = example(dataclass())("a")
    instance.parts.append(instance)
    assert "..." in repr(instance)
