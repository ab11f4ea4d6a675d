// Search box, command palette and the sheet of shortcuts.
import { paletteStep, readShortcut } from "./palette-keys";

const KEEP = "shortcuts"; // localStorage: "off" silences the single-key shortcuts (WCAG 2.1.4).

export function startDialogs(): void {
  const palette = document.getElementById("palette") as HTMLDialogElement | null;
  const sheet = document.getElementById("shortcuts") as HTMLDialogElement | null;
  document.addEventListener("click", (event) => {
    const element = event.target as Element;
    if (element.closest("[data-open=palette]")) palette?.showModal();
    if (element.closest("[data-open=shortcuts]")) sheet?.showModal();
    if (element.closest("[data-close]")) element.closest("dialog")?.close();
    if (element instanceof HTMLDialogElement) element.close();
  });
  const single = document.getElementById("single-keys") as HTMLInputElement | null;
  if (single) {
    single.checked = localStorage.getItem(KEEP) !== "off";
    single.addEventListener("change", () => localStorage.setItem(KEEP, single.checked ? "on" : "off"));
  }
  document.addEventListener("keydown", (event) => {
    const opened = readShortcut(event, !isTyping(event.target) && localStorage.getItem(KEEP) !== "off");
    if (!opened) return;
    event.preventDefault();
    if (opened === "search") document.querySelector<HTMLInputElement>(".searchbox")?.focus();
    else if (opened === "shortcuts") sheet?.showModal();
    else {
      palette?.showModal();
      palette?.querySelector("input")?.select();
    }
  });
  palette?.addEventListener("keydown", (event) => walkResults(event, palette));
  palette?.addEventListener("click", (event) => useResult(event, palette));
}

/** What a result does on this page: it fills the box, or it is done and the palette closes. */
function useResult(event: MouseEvent, palette: HTMLDialogElement): void {
  const hit = (event.target as Element).closest<HTMLElement>(".hit");
  const input = palette.querySelector("input");
  if (hit?.dataset.fills && input) {
    event.preventDefault();
    input.value = hit.dataset.fills;
    input.focus();
    input.dispatchEvent(new Event("input", { bubbles: true }));
  } else if (hit instanceof HTMLButtonElement) palette.close();
}

/** Arrow keys walk the results; Enter in the box opens the first. */
function walkResults(event: KeyboardEvent, palette: HTMLElement): void {
  const links = [...palette.querySelectorAll<HTMLElement>(".results .hit, .results a.more")];
  const input = palette.querySelector("input");
  const index = links.indexOf(document.activeElement as HTMLElement);
  if (index < 0 && event.key === "Enter" && document.activeElement !== input) return;
  const step = paletteStep(event.key, index, links.length);
  if (!step) return;
  event.preventDefault();
  if ("open" in step) links[step.open]?.click();
  else (links[step.focus] ?? input)?.focus();
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
