// What the form beside a document does at once, before the server answers: narrowing of long lists, keys of undo.
// What decides is in hasAllWords() and undoAction(); both know of no page.
import { translate } from "./words";

type Key = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">;

/** Whether a text has all words that are looked for; the server decides in the same way. */
export function hasAllWords(text: string, find: string): boolean {
  return find
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** What a key asks for: Ctrl or ⌘ with Z, with Shift and Z, or with Y. */
export function undoAction(event: Key): "undo" | "redo" | undefined {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return undefined;
  const key = event.key.toLowerCase();
  if (key === "z") return event.shiftKey ? "redo" : "undo";
  return key === "y" && !event.shiftKey ? "redo" : undefined;
}

function hasUndo(target: EventTarget | null): boolean {
  // What is typed and not yet told to the form is undone by the browser.
  const input = target as HTMLInputElement | HTMLTextAreaElement;
  return "defaultValue" in input && input.type !== "checkbox" && input.value !== input.defaultValue;
}

/** Hides the rows of the form that are not looked for. */
function narrowRows(fields: HTMLElement): void {
  const find = document.querySelector<HTMLInputElement>("#f-find")?.value ?? "";
  const onlyChanged = document.querySelector<HTMLInputElement>("#f-changed")?.checked ?? false;
  for (const row of fields.querySelectorAll<HTMLElement>("[data-find]")) {
    const isMatch = hasAllWords(row.dataset.find ?? "", find) && (!onlyChanged || row.dataset.differs !== undefined);
    row.hidden = !isMatch && row.dataset.always === undefined;
  }
  for (const section of fields.querySelectorAll<HTMLElement>("[data-narrowed=section]")) {
    section.hidden = !section.querySelector("[data-find]:not([hidden])");
    for (const details of section.querySelectorAll("details")) details.open = find.trim() !== "" || onlyChanged;
  }
  const rows = [...fields.querySelectorAll<HTMLElement>("[data-narrowed=rows] > [data-find]")];
  const count = document.querySelector("#f-count");
  if (count)
    count.textContent = translate("%(shown)s of %(all)s plugins", {
      shown: rows.filter((row) => !row.hidden).length,
      all: rows.length,
    });
}

/** `press` sends the form with a button of it. */
export function startForm(fields: HTMLElement, press: (button: HTMLButtonElement) => void): void {
  document.addEventListener("input", (event) => {
    if (["f-find", "f-changed"].includes((event.target as Element).id)) narrowRows(fields);
  });
  document.addEventListener("keydown", (event) => {
    const action = undoAction(event);
    const target = event.target as Element;
    if (!action || !(fields.contains(target) || target === document.body) || hasUndo(target)) return;
    const button = fields.querySelector<HTMLButtonElement>(`button[name=${action}]`);
    if (!button) return;
    event.preventDefault();
    if (!button.disabled) press(button);
  });
}
