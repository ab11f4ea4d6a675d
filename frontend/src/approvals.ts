// The inbox of approvals: keys, and time that runs down. Everything it does has a plain link or form beneath it.

import { formatDuration } from "./duration-words";
import { translate } from "./words";

const KEEP = "shortcuts"; // as in frame/palette.ts: "off" silences the single-key shortcuts

// The inbox shows a request beside the list from this width on; below, a tap opens the request's page (approvals.css).
const BESIDE = window.matchMedia("(min-width: 1100px)");

startClock();
startUndo();
startKeys();

/** "59 min 3 s left", as the server words it. */
function formatTimeLeft(seconds: number): string {
  return seconds < 1
    ? translate("no time left")
    : translate("%(lasting)s left", { lasting: formatDuration(Math.floor(seconds)) });
}

function startClock(): void {
  const tick = (): void => {
    const now = Date.now() / 1000;
    for (const ring of document.querySelectorAll<SVGElement>("[data-ring]")) {
      const requested = Number(ring.dataset.asked);
      const expires = Number(ring.dataset.expires);
      const seconds = Math.max(expires - now, 0);
      const share = expires > requested ? Math.min(seconds / (expires - requested), 1) : 0;
      ring.querySelector("circle:last-child")?.setAttribute("stroke-dasharray", `${Math.round(share * 1000)} 1000`);
      const urgent = share < 0.1 || seconds < 300;
      ring.classList.toggle("urgent", urgent);
      const text = ring.parentElement?.querySelector<HTMLElement>("[data-left]");
      if (text) {
        text.textContent = formatTimeLeft(seconds);
        text.classList.toggle("urgent", urgent);
      }
    }
  };
  window.setInterval(() => {
    if (!document.hidden) tick();
  }, 1000);
}

/** Counts the seconds down in which a verdict can be undone; then the offer goes. */
function startUndo(): void {
  for (const offer of document.querySelectorAll<HTMLElement>("[data-undo]")) {
    const ends = Date.now() + 1000 * Number(offer.dataset.undo);
    const timer = window.setInterval(() => {
      const seconds = Math.ceil((ends - Date.now()) / 1000);
      const left = offer.querySelector("[data-undo-left]");
      if (left) left.textContent = String(Math.max(seconds, 0));
      if (seconds <= 0) {
        window.clearInterval(timer);
        offer.remove();
      }
    }, 250);
  }
}

function startKeys(): void {
  const list = document.getElementById("mail");
  const form = document.getElementById("decide") as HTMLFormElement | null;
  if (!list) return;
  const listRows = (): HTMLElement[] => [...list.querySelectorAll<HTMLElement>(".mail-row")];
  const currentRow = (): HTMLElement | undefined =>
    listRows().find((row) => row.classList.contains("current")) ?? listRows()[0];
  const checkboxOf = (row?: HTMLElement): HTMLInputElement | null =>
    row?.querySelector<HTMLInputElement>("input[type=checkbox]") ?? null;

  const selectRow = (row: HTMLElement): void => {
    for (const candidateRow of listRows()) {
      const chosen = candidateRow === row;
      candidateRow.classList.toggle("current", chosen);
      const link = candidateRow.querySelector("a");
      if (chosen) link?.setAttribute("aria-current", "true");
      else link?.removeAttribute("aria-current");
    }
  };
  list.addEventListener("click", (event) => {
    const row = (event.target as Element).closest<HTMLElement>(".mail-row");
    if (row && (event.target as Element).closest("a")) selectRow(row);
  });
  list.addEventListener("htmx:beforeRequest", (event) => {
    if (BESIDE.matches) return;
    event.preventDefault();
    window.location.assign((event.target as HTMLAnchorElement).href);
  });
  const moveSelection = (offset: number): void => {
    const mailRows = listRows();
    const index = mailRows.indexOf(currentRow() as HTMLElement);
    const row = mailRows[Math.min(Math.max(index + offset, 0), mailRows.length - 1)];
    const link = row?.querySelector("a");
    link?.focus();
    if (row && row !== mailRows[index]) link?.click();
  };
  const tickedBoxes = (): HTMLInputElement[] =>
    listRows()
      .map(checkboxOf)
      .filter((box): box is HTMLInputElement => !!box?.checked);
  const showCount = (): void => {
    const element = document.getElementById("decide-count");
    const number = tickedBoxes().length;
    if (element)
      element.textContent = number
        ? translate("%(number)s selected.", { number })
        : translate("Select pods to decide them together.");
    for (const button of form?.querySelectorAll("button") ?? []) button.disabled = !number;
  };
  list.addEventListener("change", showCount);
  window.addEventListener("pageshow", showCount); // the browser may have put ticks back
  // The form of the selected requests, or else that of the open one, which stands in its pane.
  const targetForm = (): HTMLFormElement | null =>
    tickedBoxes().length ? form : document.querySelector<HTMLFormElement>("#pane form.decide");
  const reasonOf = (decideForm: HTMLFormElement | null): HTMLInputElement | null =>
    decideForm?.querySelector<HTMLInputElement>("input[name=reason]") ?? null;
  const submitVerdict = (decideForm: HTMLFormElement | null, verdict: string): void =>
    decideForm?.querySelector<HTMLButtonElement>(`button[value=${verdict}]`)?.click();
  document.addEventListener("keydown", (event) => {
    const input = event.target as HTMLInputElement;
    const decideForm = input.name === "reason" ? input.closest<HTMLFormElement>("form.decide") : null;
    if (!decideForm) return;
    if (event.key === "Enter") {
      event.preventDefault();
      if (input.value.trim()) submitVerdict(decideForm, "deny");
    } else if (event.key === "Escape") {
      currentRow()?.querySelector("a")?.focus();
    }
  });
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const typing =
      target.isContentEditable ||
      /^(TEXTAREA|SELECT)$/.test(target.tagName) ||
      (target instanceof HTMLInputElement && target.type !== "checkbox");
    if (event.ctrlKey || event.metaKey || event.altKey || typing || document.querySelector("dialog[open]")) return;
    if (localStorage.getItem(KEEP) === "off") return;
    if (event.key === "j") moveSelection(1);
    else if (event.key === "k") moveSelection(-1);
    else if (event.key === "x") checkboxOf(currentRow())?.click();
    else if (event.key === "a") submitVerdict(targetForm(), "approve");
    else if (event.key === "d") {
      event.preventDefault();
      const reason = reasonOf(targetForm());
      if (reason?.value.trim()) submitVerdict(targetForm(), "deny");
      else if (reason) {
        reason.placeholder = translate("Why is it denied? Enter denies");
        reason.focus();
      }
    }
  });
  showCount();
}
