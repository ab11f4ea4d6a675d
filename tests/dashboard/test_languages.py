"""Pages in the language of whoever asks; tests/walk/words.py looks for words of pages that nobody marked for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Snapshot
from kschedweb.dashboard.templatetags import ui
from kschedweb.policies.editing.help_translation import translate_help
from kschedweb.web.reason_translation import translate_reason
from tests.support.html import elements

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def language_of_others() -> Iterator[None]:
    """A request leaves its language behind in the process: other tests get theirs back."""
    with translation.override(translation.get_language()):
        yield


def in_language(client: Client, address: str, language: str) -> str:
    answer = client.get(address, headers={"Accept-Language": language})
    assert answer.status_code == 200, address
    return answer.content.decode()


def lang(html: str) -> str:
    return elements(html, "html")[0]["lang"]


def test_the_browser_says_the_language_until_somebody_chooses_one(client_as: Callable[[str], Client]) -> None:
    stranger = Client()
    assert lang(in_language(stranger, "/login/", "zh-CN,zh;q=0.9,en;q=0.5")) == "zh-hans"
    assert lang(in_language(stranger, "/login/", "fr,ja;q=0.5")) == "ja"
    assert lang(in_language(stranger, "/login/", "fr")) == "en"
    stranger.post("/language/", {"language": "ja", "next": "/login/"})
    assert lang(in_language(stranger, "/login/", "zh-CN")) == "ja"
    stranger.post("/language/", {"language": "fr", "next": "/login/"})
    assert stranger.cookies[settings.LANGUAGE_COOKIE_NAME].value == "ja"

    viewer = client_as("viewer")
    assert viewer.post("/settings/", {"language": "zh-hans"}).status_code == 302
    assert User.objects.get(username="viewer").language == "zh-hans"
    page = in_language(viewer, "/settings/", "ja")
    assert lang(page) == "zh-hans"
    assert "显示设置已保存" in page
    assert viewer.post("/settings/", {"language": "fr"}).context["form"].errors["language"]


def test_rest_is_in_english_whatever_is_asked(
    api_as: Callable[[str], Client], client_as: Callable[..., Client]
) -> None:
    User.objects.filter(username="viewer").update(language="ja")
    answer = client_as("viewer").get("/api/v1/policies/nothing/", headers={"Accept-Language": "ja"})
    assert answer.status_code == 404
    assert answer.json()["detail"].isascii()


def test_scripts_get_their_words_in_the_language(client: Client) -> None:
    assert "\\u521a\\u521a" in client.get("/words/zh-hans.js").content.decode()  # 刚刚
    assert client.get("/words/fr.js").status_code == 404
    assert "/words/" not in in_language(client, "/login/", "en")
    assert "/words/ja.js" in in_language(client, "/login/", "ja")


def test_numbers_look_the_same_in_every_language(client_as: Callable[[str], Client], demo: Snapshot) -> None:
    viewer = client_as("viewer")
    numbers = [
        re.findall(r"<b>([\d,.]+)</b>", in_language(viewer, "/?cluster=demo", language)) for language in ("en", "ja")
    ]
    assert numbers[0] == numbers[1] != []


@pytest.mark.parametrize(
    ("words", "reading"),
    [
        ("Insufficient cpu", "空闲的 cpu 不足"),
        ("3 Insufficient example.com/gpu", "空闲的 example.com/gpu 不足"),
        ("13 node(s) had untolerated taint(s)", "有此 Pod 不容忍的污点"),
        ("node(s) didn't match pod topology spread constraints (missing required label)", "缺少用于分布的标签"),
        ("node(s) didn't match pod topology spread constraints", "Pod 的分布会太不均匀"),
        ("whatever a plugin says", ""),
    ],
)
def test_the_schedulers_words_have_a_reading_in_other_languages(words: str, reading: str) -> None:
    assert translate_reason(words) == ""
    with translation.override("zh-hans"):
        assert translate_reason(words) == reading


@pytest.mark.parametrize(
    ("help_text", "in_chinese"),
    [
        ("How many nodes are looked at at the same time. Default: 16. At least 1.", "默认值：16。至少 1。"),
        ("CPU used, in percent. Default: 80. Range: 0 to 100.", "默认值：80。范围：0 到 100。"),
    ],
)
def test_each_remark_that_ends_a_help_text_is_translated(help_text: str, in_chinese: str) -> None:
    with translation.override("zh-hans"):
        assert translate_help(help_text).endswith(in_chinese)


@pytest.mark.parametrize(
    ("language", "words", "sentence"),
    [("en", "raise maxSkew", "Raise maxSkew."), ("ja", "maxSkewを上げる", "maxSkewを上げる。")],
)
def test_a_sentence_begins_and_ends_as_its_language_does(language: str, words: str, sentence: str) -> None:
    with translation.override(language):
        assert ui.sentence(words) == sentence
