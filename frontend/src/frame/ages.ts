/** Time goes on while a page stands still: every second each age is told anew, and a part that renews itself says so
 * when it was not renewed. Counted by this page's own clock from when the part was first seen: clocks may differ. */

import { formatAgo } from "../duration-words";
import { translate } from "../words";

const EVERY = 1000; // milliseconds
const firstSeen = new WeakMap<Element, number>();

export function startAges(): void {
  updateAges();
  window.setInterval(updateAges, EVERY);
}

function updateAges(): void {
  for (const element of document.querySelectorAll<HTMLElement>("[data-age]")) {
    const words = formatAgo(Number(element.dataset.age) + secondsOnPage(element), element.dataset.exact !== undefined);
    if (element.textContent !== words) element.textContent = words;
  }
  for (const part of document.querySelectorAll<HTMLElement>("[data-renewed]")) {
    const late = secondsOnPage(part) > 2 * Number(part.dataset.renewed);
    if (late) warnOfAge(part);
  }
}

/** Seconds since `element` came to this page. */
function secondsOnPage(element: Element): number {
  const now = performance.now();
  const since = firstSeen.get(element) ?? now;
  firstSeen.set(element, since);
  return (now - since) / 1000;
}

/** Says that `part` is old; the next answer of the server takes the place of all of it. */
function warnOfAge(part: HTMLElement): void {
  if (part.dataset.late !== undefined) return;
  part.dataset.late = "";
  const note = document.createElement("p");
  note.className = "notice warn";
  note.setAttribute("role", "status");
  const when = document.createElement("span");
  when.dataset.age = String(Math.floor(secondsOnPage(part)));
  when.textContent = formatAgo(secondsOnPage(part), false);
  const warning = translate("The server does not answer. This was last updated %(when)s and may be out of date.", {
    when: "\u0000",
  });
  const [textBefore = "", textAfter = ""] = warning.split("\u0000");
  note.append(textBefore, when, textAfter);
  part.prepend(note);
}
