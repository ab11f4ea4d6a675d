// Large tables as one tab stop: arrow keys walk their cells. Without JavaScript each link is a stop of its own.
import { type CellPosition, nextPosition } from "./grid-keys";

export function startGrids(): void {
  for (const table of document.querySelectorAll<HTMLTableElement>("table[data-grid]")) startGrid(table);
}

function startGrid(table: HTMLTableElement): void {
  const rows = [...table.rows].map((row) => [...row.cells]);
  const spans = rows.map((row) => row.map((cell) => cell.colSpan));
  const positions = new Map<Element, CellPosition>();
  for (const [row, cells] of rows.entries())
    for (const [index, cell] of cells.entries()) positions.set(cell, { row, cell: index });
  table.setAttribute("role", "grid");
  table.closest(".table-box")?.removeAttribute("tabindex");
  for (const link of table.querySelectorAll<HTMLElement>("a")) link.tabIndex = -1;

  let current = focusTarget(rows[0]?.[0]);
  if (!current) return;
  current.tabIndex = 0;

  const makeTabStop = (element: HTMLElement): void => {
    if (current) current.tabIndex = -1;
    current = element;
    current.tabIndex = 0;
  };
  table.addEventListener("focusin", ({ target }) => {
    if (target instanceof HTMLElement && target !== table) makeTabStop(target);
  });
  table.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey || event.shiftKey) return;
    const target = event.target as HTMLElement;
    const cell = target.closest<HTMLTableCellElement>("th, td");
    const position = cell ? positions.get(cell) : undefined;
    if (!cell || !position) return;
    const next = nextInCell(event.key, cell, target) ?? nextCell(event, position);
    if (!next) return;
    event.preventDefault();
    if (next.tabIndex !== 0) next.tabIndex = -1;
    next.focus();
  });

  /** What a key means outside of a cell's links. */
  function nextCell(event: KeyboardEvent, position: CellPosition): HTMLElement | undefined {
    const target = nextPosition(event, spans, position);
    return target && focusTarget(rows[target.row]?.[target.cell]);
  }
}

/** What has the focus when a cell has it: its link where there is one alone, else the cell. */
function focusTarget(cell: HTMLTableCellElement | undefined): HTMLElement | undefined {
  const links = cell?.querySelectorAll<HTMLElement>("a");
  return links?.length === 1 ? links[0] : cell;
}

/** In a cell with several links Enter and F2 go to the first, arrows from one to the next, Escape back to the cell. */
function nextInCell(key: string, cell: HTMLTableCellElement, target: HTMLElement): HTMLElement | undefined {
  const links = [...cell.querySelectorAll<HTMLElement>("a")];
  if (links.length < 2) return undefined;
  if (target === cell) return key === "Enter" || key === "F2" ? links[0] : undefined;
  if (key === "Escape" || key === "F2") return cell;
  const index = links.indexOf(target);
  if (key === "ArrowRight") return links[index + 1] ?? target;
  if (key === "ArrowLeft") return links[index - 1] ?? target;
  return undefined;
}
