// How keys walk the cells of a grid, as WAI-ARIA describes it; nothing here knows of a page.

export type CellPosition = { row: number; cell: number };

const SCREEN = 10; // rows that Page Up and Page Down go

/** Where a key leads from the cell at `position`; `spans` has how many columns each cell of each row is wide. */
export function nextPosition(
  { key, ctrlKey }: Pick<KeyboardEvent, "key" | "ctrlKey">,
  spans: number[][],
  position: CellPosition,
): CellPosition | undefined {
  const last = (spans[position.row]?.length ?? 1) - 1;
  const cellInRow = (row: number): CellPosition => {
    const targetRow = Math.max(0, Math.min(row, spans.length - 1));
    return {
      row: targetRow,
      cell: cellAtColumn(spans[targetRow] ?? [], firstColumn(spans[position.row] ?? [], position.cell)),
    };
  };
  if (key === "Home") return ctrlKey ? { row: 0, cell: 0 } : { ...position, cell: 0 };
  if (key === "End") {
    return ctrlKey ? { row: spans.length - 1, cell: (spans.at(-1)?.length ?? 1) - 1 } : { ...position, cell: last };
  }
  if (ctrlKey) return undefined;
  switch (key) {
    case "ArrowRight":
      return { ...position, cell: Math.min(position.cell + 1, last) };
    case "ArrowLeft":
      return { ...position, cell: Math.max(position.cell - 1, 0) };
    case "ArrowDown":
      return cellInRow(position.row + 1);
    case "ArrowUp":
      return cellInRow(position.row - 1);
    case "PageDown":
      return cellInRow(position.row + SCREEN);
    case "PageUp":
      return cellInRow(position.row - SCREEN);
    default:
      return undefined;
  }
}

/** The column in which a cell begins. */
function firstColumn(row: number[], cell: number): number {
  return row.slice(0, cell).reduce((sum, span) => sum + span, 0);
}

/** The cell of a row that covers a column, or its last one. */
function cellAtColumn(row: number[], column: number): number {
  let end = 0;
  const position = row.findIndex((span) => {
    end += span;
    return column < end;
  });
  return position < 0 ? Math.max(row.length - 1, 0) : position;
}
