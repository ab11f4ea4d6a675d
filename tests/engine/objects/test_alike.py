from __future__ import annotations

from kschedweb.engine.objects.alike import Alike


def test_all_are_forgotten_once_there_are_as_many_as_may_be_kept() -> None:
    known: Alike[str] = Alike(2)
    assert [known.keep(content, content.decode()) for content in (b"a", b"b")] == ["a", "b"]
    assert known == {b"a": "a", b"b": "b"}
    assert known.keep(b"c", "c") == "c"
    assert known == {b"c": "c"}
