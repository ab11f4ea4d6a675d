"""Pages in the language of whoever asks, and the words of pages that nobody marked for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation

from kschedweb import catalogues
from kschedweb.accounts.models import User
from kschedweb.clusters.models import Snapshot
from kschedweb.dashboard.templatetags import ui
from kschedweb.policies.editing.helping import helped
from kschedweb.web.readings import reading
from tests.support import addresses, seed
from tests.support.html import elements
from tests.support.pseudo import BEGINS, ENDS, pseudo_language
from tests.support.unmarked import outside

pytestmark = pytest.mark.django_db
# Pages whose every word is marked, or data, or kube-scheduler's own.
WHOLE = (
    "overview", "pods", "nodes", "policies", "policy-delete", "policy-revisions", "policy-new", "policy",
    "policy:classic", "policy:crane", "policy:karpenter", "policy-effective",
    "policy-diff", "decision:classic", "decision-answer",
    "pod-group", "pod-groups", "usage-source", "usage-annotations", "webhook", "approval",
    "approvals", "approvals-history", "webhooks",
    "webhook-new", "usage", "usage-heatmap", "usage-distribution", "usage-nodes", "usage-workloads", "decision",
    "decision:stuck", "decisions-together", "settings", "views", "password", "login",
    "trying", "tried", "scenarios", "scenario", "scenario-new", "scenario-import", "scenario-files",
    "scenario-revisions", "scenario-delete", "runs", "run", "run-new", "comparisons", "comparisons:experiments",
    "comparison", "comparison-new", "gate", "gate-verdict", "sweeps", "sweep", "sweep-new",
    "recordings", "recording", "descheduling", "descheduling-answer", "plans", "plans-answer",
    "experiment", "experiment-new",
    "costs", "costs-prices", "autoscaling-change", "autoscaling-groups",
    "capacity-answer", "capacity-gangs", "capacity-nodes", "capacity-drain", "capacity-buffer", "capacity-fit",
    "cluster-flight", "decision-answer:effect", "decision:classic-stuck", "fleet-search", "fleet-search:empty",
    "fleet-trials", "gate:filtered", "grants", "mfa_index", "nodes:none", "nodes:state", "password-forgotten",
    "password-mailed", "pod-group:off", "pod-history", "pods:reason", "policy-diff:classic",
    "policy-effective:classic", "policy-effective:crane", "policy-effective:karpenter", "policy:points",
    "repositories", "repository-delete", "run-decision", "run:begin", "run:node", "tried:moved", "webhook-delete",
)  # fmt: skip
# What kube-scheduler and the product say of themselves, and names with blanks that the seed gives.
OWN = re.compile(
    r"""
      ^kschedweb\ \d | (^|:\ )\d+/\d+\ nodes\ are\ available | ^(\d+\ )?Insufficient\  | ^preemption:\ | ^Preemption\ is
      | ^(Autoscaling|Job|Moves|token|view|Scenario|person|Record|Capacity|Effect|Decision|Drain|Run|Compare|Sweep)\b
      | ^(Pending|Question)\b | ^Plan\ of\ moves:
      | ^Production\ pods\ are | ^denied\ by | ^The\ policy\ that\ pages
      | \((request|decisions|run)\.\w+$ | ^request\.opened | ^[\w.-]+/[\w.-]+
      | ^rush: | ^Spread: | ^A\ zone\ is\ lost | ^Two\ zones\ hold | ^preempted\ by\  | ^No\ plugin\ prefers
      | ^storageclasses: | ,\ \d{4}-\d\d-\d\d\ \d\d:\d\d\ UTC | ^Fit\ (scoring|weight)$
      | ^pod\ group\ is\ unschedulable, | ^\s*\{labels?:
      | ^no\ nodes\ available\ to | \(\d+\)\ cannot\ be\ satisfied: | ^pool=gpu$
      | would\ fit\ now$ | nothing\ to\ do\ here$ | ^Profiles\ \( | ^Classic\ \( | ^crane-scheduler\ \(
    """,
    re.VERBOSE,
)

# Pages in English yet, whose durations are in the language of the reader.
TIMED = ("live", "live-decision", "live-scheduler", "live-shadow")
DURATION = re.compile(r"(?<![\w.:])\d[\d.,]* (ms|s|min|h|d|days?)\b")
CAMEL = re.compile(r"\w*[a-z][A-Z]\w*")  # names of plugins
# Names that the seed gives, names and values of fields, and how names of plugins begin.
DATA = frozenset(
    {
        *("admin", "approver", "default", "age", "recorded", "nodepools", "More", "rush", "gang"),
        *("disruption", "extenders", "version", "File", "Node", "Prometheus", "System", "List", "All"),
        *(
            "all",
            "arrivals",
            "at",
            "count",
            "cycle",
            "description",
            "effect",
            "false",
            "file",
            "from",
            "history",
            "key",
            "labels",
        ),
        *("name", "namespace", "nodes", "none", "pending", "place", "true", "value", "weight", "zone", "zones"),
        *("address", "filter", "policy", "predicate", "priority", "score", "thresholds", "memory"),
    }
)


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
    ("words", "said"),
    [
        ("Insufficient cpu", "空闲的 cpu 不足"),
        ("3 Insufficient example.com/gpu", "空闲的 example.com/gpu 不足"),
        ("13 node(s) had untolerated taint(s)", "有此 Pod 不容忍的污点"),
        ("node(s) didn't match pod topology spread constraints (missing required label)", "缺少用于分布的标签"),
        ("node(s) didn't match pod topology spread constraints", "Pod 的分布会太不均匀"),
        ("whatever a plugin says", ""),
    ],
)
def test_the_schedulers_words_have_a_reading_in_other_languages(words: str, said: str) -> None:
    assert reading(words) == ""
    with translation.override("zh-hans"):
        assert reading(words) == said


@pytest.mark.parametrize(
    ("said", "in_chinese"),
    [
        ("How many nodes are looked at at the same time. Default: 16. At least 1.", "默认值：16。至少 1。"),
        ("CPU used, in percent. Default: 80. Range: 0 to 100.", "默认值：80。范围：0 到 100。"),
    ],
)
def test_each_remark_that_ends_a_help_text_is_translated(said: str, in_chinese: str) -> None:
    with translation.override("zh-hans"):
        assert helped(said).endswith(in_chinese)


def words_of_catalogues() -> frozenset[str]:
    return frozenset(one.lower() for one in catalogues.marked("django") if isinstance(one, str) and " " not in one)


@pytest.mark.usefixtures("no_cluster")
def test_no_page_has_words_that_nobody_marked(client_as: Callable[[str], Client]) -> None:
    admin = client_as("admin")
    at = seed.everything(2, User.objects.get(username="admin"))
    pages, known, found = addresses.pages(at), words_of_catalogues(), []
    with pseudo_language() as code:
        for name in WHOLE + TIMED:
            client = Client() if name == "login" else admin
            for text in outside(in_language(client, pages[name], code), BEGINS, ENDS):
                text = text.removesuffix("· kschedweb").strip(" ·,.:;()→")
                text = CAMEL.sub("", text)
                is_sentence = len(re.findall(r"(?<![\w./-])[A-Za-z]{2,}(?![\w/-])", text)) > 1
                is_word = is_sentence or (text.lower() in known and text not in DATA)
                if (DURATION.search(text) or (name in WHOLE and is_word)) and not OWN.search(text):
                    found.append(f"{name}: {text}")
    assert not found, "\n".join(sorted(set(found)))


@pytest.mark.parametrize(
    ("language", "said", "sentence"),
    [("en", "raise maxSkew", "Raise maxSkew."), ("ja", "maxSkewを上げる", "maxSkewを上げる。")],
)
def test_a_sentence_begins_and_ends_as_its_language_does(language: str, said: str, sentence: str) -> None:
    with translation.override(language):
        assert ui.sentence(said) == sentence
