// The order of rows in the form of a policy: by drag, and by the arrow keys on a row's handle.
// A list says with data-order which field of the form holds its names; without this script buttons move a row.
import { translate } from "./words";

interface Drag {
  row: HTMLElement;
  initialRows: HTMLElement[];
}

function rowsOf(list: Element): HTMLElement[] {
  return [...list.querySelectorAll<HTMLElement>(":scope > li")];
}

function visibleNeighbour(row: HTMLElement, down: boolean): HTMLElement | null {
  let sibling = down ? row.nextElementSibling : row.previousElementSibling;
  while (sibling && (sibling as HTMLElement).hidden)
    sibling = down ? sibling.nextElementSibling : sibling.previousElementSibling;
  return sibling as HTMLElement | null;
}

/** Exchanges a row with its neighbour. The row stays in the page, so that it keeps the focus and the pointer. */
function moveRow(row: HTMLElement, down: boolean): boolean {
  const sibling = visibleNeighbour(row, down);
  if (!sibling) return false;
  if (down) row.before(sibling);
  else row.after(sibling);
  return true;
}

function middleOf(row: HTMLElement): number {
  const box = row.getBoundingClientRect();
  return box.top + box.height / 2;
}

function followPointer(row: HTMLElement, y: number): void {
  for (const down of [false, true]) {
    let sibling = visibleNeighbour(row, down);
    while (sibling && (down ? y > middleOf(sibling) : y < middleOf(sibling))) {
      moveRow(row, down);
      sibling = visibleNeighbour(row, down);
    }
  }
}

/** Writes the order of the rows into the form's field, which tells the form where it changed. */
function writeOrder(list: HTMLElement): void {
  const rows = rowsOf(list);
  rows.forEach((row, index) => {
    const place = row.querySelector(".point-place");
    if (place) place.textContent = String(index + 1);
  });
  const field = list.closest("form")?.elements.namedItem(list.dataset.order ?? "") as HTMLInputElement | null;
  const names = rows.map((row) => row.dataset.plugin ?? "").join(" ");
  if (!field || field.value === names) return;
  field.value = names;
  field.dispatchEvent(new Event("change", { bubbles: true }));
}

function rowOf(target: EventTarget | null): HTMLElement | null {
  const handle = (target as Element).closest<HTMLElement>(".point-handle");
  return handle?.closest("fieldset")?.disabled ? null : (handle?.closest("li") ?? null);
}

/** Orders the rows in `fields`; `announce` tells what a key did to those who do not see it. */
export function startOrdering(fields: HTMLElement, announce: (text: string) => void): void {
  let drag: Drag | undefined;

  const endDrag = (confirmed: boolean): void => {
    if (!drag) return;
    const { row, initialRows } = drag;
    drag = undefined;
    row.classList.remove("is-dragged");
    const list = row.parentElement;
    if (!list) return;
    if (!confirmed) list.append(...initialRows);
    writeOrder(list);
  };

  fields.addEventListener("pointerdown", (event) => {
    const row = rowOf(event.target);
    if (!row?.parentElement || event.button !== 0) return;
    (event.target as Element).closest(".point-handle")?.setPointerCapture(event.pointerId);
    drag = { row, initialRows: rowsOf(row.parentElement) };
    row.classList.add("is-dragged");
  });
  fields.addEventListener("pointermove", (event) => {
    if (drag) followPointer(drag.row, event.clientY);
  });
  fields.addEventListener("pointerup", () => endDrag(true));
  fields.addEventListener("pointercancel", () => endDrag(false));
  fields.addEventListener("keydown", (event) => {
    if (event.key === "Escape") endDrag(false);
    const row = rowOf(event.target);
    const down = event.key === "ArrowDown";
    if (!row?.parentElement || !(down || event.key === "ArrowUp") || drag) return;
    event.preventDefault();
    const list = row.parentElement;
    if (!moveRow(row, down)) return;
    writeOrder(list);
    const rows = rowsOf(list);
    announce(
      translate("%(plugin)s is number %(place)s of %(all)s.", {
        plugin: row.dataset.plugin ?? "",
        place: rows.indexOf(row) + 1,
        all: rows.length,
      }),
    );
  });
}
