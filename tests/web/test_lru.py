"""Cached values are made once, and making one keeps nobody from the others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from kschedweb.web.lru import LRU

PATIENCE = 30.0  # seconds until a test gives up


def test_a_value_is_made_once_for_all_who_wait_for_it() -> None:
    cache, makings, go_on = LRU[int](2), list[int](), Event()

    def make() -> int:
        assert go_on.wait(PATIENCE)
        makings.append(1)
        return 7

    with ThreadPoolExecutor(8) as crowd:
        asking = [crowd.submit(cache.get, "seven", make) for _ in range(8)]
        assert cache.get("eight", lambda: 8) == 8  # nobody waits who asks for another one
        go_on.set()
        assert [future.result(PATIENCE) for future in asking] == [7] * 8
    assert makings == [1]


def test_after_an_error_the_next_one_tries_again() -> None:
    cache = LRU[int](2)
    with pytest.raises(ZeroDivisionError):
        cache.get("one", lambda: 1 // 0)
    assert cache.get("one", lambda: 1) == 1


def test_the_one_used_longest_ago_goes() -> None:
    cache = LRU[str](2)
    for key in ("a", "b", "a", "c"):
        cache.get(key, key.upper)
    assert [cache.peek(key) for key in "abc"] == ["A", None, "C"]
    cache.clear()
    assert cache.peek("a") is None


def test_what_weighs_more_than_all_may_makes_others_go() -> None:
    cache = LRU[str](10, weigh=len)
    for word in ("four", "five", "elevenths"):
        cache.put(word, word)
    assert cache.cached_keys() == ["elevenths"]
    assert cache.values() == ["elevenths"]
