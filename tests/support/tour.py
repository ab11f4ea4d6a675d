"""A document whose numbered steps are followed in a browser to the letter, so that neither drifts from the other.

A step is made of clauses such as ``press **Run**`` or ``type `packing` into **Name**``. Bold is the name of something
on the page, code is what a person types or chooses, and quotes are words that the page shows. Whatever is marked so
belongs to a clause that is understood: a step that cannot be followed is an error, not a remark.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

_NAME, _TYPED = r"\*\*([^*]+)\*\*", r"`([^`]+)`"
_REMEMBERED = r"(the printed address|the printed username|the printed password|the temporary password|the copied link)"
_CLAUSES = {
    verb: re.compile(rf"\b{text}", re.IGNORECASE)
    for verb, text in {
        "under": f"under {_NAME}",
        "type": f"type {_TYPED} into {_NAME}",
        "type_known": f"type {_REMEMBERED} into {_NAME}",
        "choose": f"choose {_TYPED}(?: for {_NAME})?",
        "tick": f"tick {_NAME}",
        "press": f"press {_NAME}",
        "press_first": f"press the (first link) in the column {_NAME}",
        "unfold": f"unfold {_NAME}",
        "see": "you see “([^”]+)”",
        "visit": f"open {_REMEMBERED}",
        "window": "open (a private window)",
        "shell": f"run {_TYPED}",
    }.items()
}
_STEP = re.compile(r"^\d+\. (.+)$", re.MULTILINE)
_TITLES = "h1, h2, h3, h4, legend, summary"
_PLACES = "main, nav, section, fieldset, li, details, tr, form"
PATIENCE = 60_000  # milliseconds that a person watches something work before saying that nothing comes of it

# Whether a link or button leads to another page: those among the fields of a document are sent by its script.
LEAVES = """one => one.matches('a[href]') || (one.type === 'submit' && !!one.form
    && !one.closest(`#${one.form.dataset.document ?? ''}-fields`))"""

# Words of the page, without the labels of its pictures.
COUNT_WORDS = """() => {
    const count = text => text.split(/\\s+/).filter(Boolean).length;
    const labels = [...document.querySelectorAll('svg text')].filter(text => text.getClientRects().length);
    return count(document.body.innerText) - count(labels.map(text => text.textContent).join(' '));
}"""


class TourError(AssertionError):
    """A step that cannot be followed; the text says which, and why."""


@dataclass(frozen=True)
class Clause:
    """One thing to do: ``target`` to type, choose, press or see, ``place`` (a field), ``under`` which title ("": any).

    ``chapter`` is the heading of the document above the step.
    """

    verb: str
    target: str
    place: str = ""
    under: str = ""
    step: str = ""
    chapter: str = ""

    def __str__(self) -> str:
        under = f", under {self.under}" if self.under else ""
        return f"{self.verb} {self.target!r} {self.place}{under}, in: {self.step}"


def clauses(text: str) -> list[Clause]:
    """Parse the numbered steps of a document into clauses, in order. Raises TourError."""
    prose = _STEP.sub("", text)
    if "**" in prose:
        raise TourError(f"bold is for names in numbered steps: {prose[prose.index('**') :][:60]!r}")
    return [
        clause
        for chapter in re.split(r"^## ", text, flags=re.MULTILINE)
        for step in _STEP.findall(chapter)
        for clause in _of_step(step, chapter.partition("\n")[0])
    ]


def _of_step(step: str, chapter: str = "") -> Iterator[Clause]:
    matches = sorted(
        ((match, verb) for verb, pattern in _CLAUSES.items() for match in pattern.finditer(step)),
        key=lambda pair: pair[0].start(),
    )
    remainder = step
    for match, _ in matches:
        remainder = remainder.replace(match[0], "", 1)
    if not matches or re.search(r"\*\*|[`“”]", remainder):
        raise TourError(f"this cannot be followed: {step!r}, in it {remainder!r}")
    under = ""
    for match, verb in matches:
        target, place = match[1], (match[2] or "") if match.re.groups > 1 else ""
        if verb == "under":
            under = target
        else:
            yield Clause(verb, target, place, under, step, chapter)


@dataclass
class Effort:
    """Effort of a chapter for a person: clicks, fields to fill in, words on the pages, and seconds of waiting."""

    clicks: int = 0
    fields: int = 0
    words: int = 0
    seconds: float = 0.0

    def add(self, clause: Clause, seconds: float) -> None:
        self.clicks += clause.verb in {"press", "press_first", "tick", "unfold"}
        self.fields += clause.verb in {"type", "type_known", "choose"}
        self.seconds += seconds


def efforts(visitor: Visitor, steps: Iterable[Clause]) -> dict[str, Effort]:
    """Follow ``steps``; the effort of each chapter, in order."""
    by_chapter: dict[str, Effort] = defaultdict(Effort)
    address = ""
    for clause in steps:
        begun = time.monotonic()
        visitor.follow(clause)
        effort = by_chapter[clause.chapter]
        effort.add(clause, time.monotonic() - begun)
        if visitor.page.url != address:
            address = visitor.page.url
            effort.words += visitor.page.evaluate(COUNT_WORDS)
    return by_chapter


class Visitor:
    """A person in front of ``page``; ``known`` is what a step means by "the printed password" and the like."""

    def __init__(
        self,
        page: Page,
        remembered: Mapping[str, str] | None = None,
        new_page: Callable[[], Page] | None = None,
        *,
        patience: float = PATIENCE,
    ) -> None:
        self.page, self.remembered, self.patience, self._new_page = page, dict(remembered or {}), patience, new_page

    def do(self, *steps: str) -> None:
        """Follow steps that are written here."""
        for clause in (clause for step in steps for clause in _of_step(step)):
            self.follow(clause)

    def follow(self, clause: Clause) -> None:
        """Do what ``clause`` says; raises TourError where the page has no such thing."""
        try:
            getattr(self, f"_{clause.verb}")(clause)
        except Exception as problem:
            page_text = self.page.locator("body").inner_text()
            raise TourError(f"{clause}\n{problem}\n\n{self.page.url} shows:\n{page_text[:3000]}") from problem

    # What can be done.

    def _visit(self, clause: Clause) -> None:
        self.page.goto(self.remembered[clause.target.lower()])

    def _window(self, clause: Clause) -> None:
        assert self._new_page is not None
        self.page = self._new_page()

    def _shell(self, clause: Clause) -> None:
        """Done before the visitor came."""

    def _type(self, clause: Clause) -> None:
        field = self._field(clause)
        field.fill(clause.target)
        field.blur()
        self._wait_until_settled()

    def _type_known(self, clause: Clause) -> None:
        self._field(clause).fill(self.remembered[clause.target.lower()])

    def _choose(self, clause: Clause) -> None:
        options = self.page.locator("option")
        option = options.filter(has_text=_whole(clause.target))
        if not option.count():
            option = options.filter(has_text=re.compile(rf"^\s*{re.escape(clause.target)}"))
        if clause.place:
            field = self._field(clause)
        else:
            field = self._only_visible(self._place(clause).locator("select").filter(has=option), clause.target)
        # As typing into a list does: the option that is called so, or else the first that begins so.
        field.select_option(label=field.locator(option).first.inner_text().strip())
        self._wait_until_settled()

    def _tick(self, clause: Clause) -> None:
        self._only_visible(self._place(clause).get_by_label(clause.target, exact=True), clause.target).check()
        self._wait_until_settled()

    def _press(self, clause: Clause) -> None:
        self._click(self._control(clause))

    def _press_first(self, clause: Clause) -> None:
        head = self.page.locator("thead th").filter(has_text=_whole(clause.place))
        table = self._only_visible(self._place(clause).locator("table").filter(has=head), clause.place)
        column = self._only_visible(table.locator(head), clause.place).evaluate("head => head.cellIndex")
        self._click(table.locator("tbody tr").first.locator("th, td").nth(column).get_by_role("link").first)

    def _click(self, control: Locator) -> None:
        copies = control.get_attribute("data-copy") is not None
        if control.evaluate(LEAVES):
            with self.page.expect_navigation():
                control.click()
        else:
            control.click()
        self._wait_until_settled()
        if copies:
            self.page.locator(".copied").wait_for()
            self.remembered["the copied link"] = self.page.evaluate("navigator.clipboard.readText()")
        if (password := self.page.locator("#temporary-password")).count():
            self.remembered["the temporary password"] = password.inner_text()

    def _unfold(self, clause: Clause) -> None:
        summary = self._only_visible(
            self._place(clause).locator("summary").filter(has_text=_whole(clause.target)), clause.target
        )
        if not summary.evaluate("one => one.parentElement.open"):
            summary.click()

    def _see(self, clause: Clause) -> None:
        self._place(clause).get_by_text(clause.target).filter(visible=True).first.wait_for(timeout=self.patience)

    # Where it is.

    def _place(self, clause: Clause) -> Locator:
        """The innermost part of the page that has the title which the step names."""
        if not clause.under:
            return self.page.locator("body")
        title = self._only_visible(self.page.locator(_TITLES).filter(has_text=_whole(clause.under)), clause.under)
        return self.page.locator(_PLACES).filter(has=title).last

    def _field(self, clause: Clause) -> Locator:
        label = re.compile(rf"^\s*{re.escape(clause.place)}(\s*\(required\))?\s*$")
        return self._only_visible(self._place(clause).get_by_label(label), clause.place)

    def _control(self, clause: Clause) -> Locator:
        place = self._place(clause)
        # A count may stand before or behind a name, or words that are only read aloud.
        name = re.compile(rf"^([\d,]+\s+)?{re.escape(clause.target)}(\s+[\d,]+|\s*, .+)?$")
        controls = place.get_by_role("button", name=name).or_(place.get_by_role("link", name=name)).filter(visible=True)
        controls.first.wait_for()
        targets = set(controls.evaluate_all("all => all.map(one => one.href || one.outerHTML)"))
        if len(targets) > 1:
            raise TourError(f"{len(targets)} different things are called {clause.target}: say under which title")
        return controls.first

    def _only_visible(self, locator: Locator, name: str) -> Locator:
        visible = locator.filter(visible=True)
        visible.first.wait_for()
        if visible.count() > 1:
            raise TourError(f"{visible.count()} things are called {name}: say under which title")
        return visible

    def _wait_until_settled(self) -> None:
        """Wait until the page has taken in what was done, as a person does without noticing."""
        self.page.wait_for_load_state()
        expect(self.page.locator(".htmx-request, .htmx-swapping, .htmx-settling")).to_have_count(
            0, timeout=self.patience
        )


def _whole(text: str) -> re.Pattern[str]:
    return re.compile(rf"^\s*{re.escape(text)}\s*$")
