from __future__ import annotations

from kschedweb.engine.objects.content_cache import ContentCache


def test_all_are_forgotten_once_there_are_as_many_as_may_be_kept() -> None:
    cache: ContentCache[str] = ContentCache(2)
    assert [cache.store(content, content.decode()) for content in (b"a", b"b")] == ["a", "b"]
    assert cache == {b"a": "a", b"b": "b"}
    assert cache.store(b"c", "c") == "c"
    assert cache == {b"c": "c"}
