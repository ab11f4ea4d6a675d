// Where each node's cell is: groups as blocks in strips, so that 5,000 cells fill the width and keep their places.

export type Group = { label: string; nodes: number[] };
export type Block = { label: string; count: number; column: number; row: number; width: number; height: number };
export type Grid = {
  columns: number;
  rows: number;
  cellWidth: number;
  cellHeight: number;
  hasNames: boolean; // whether a cell has room for its node's name
  lines: 0 | 1 | 2; // lines of text for which a cell has room
  cells: Int32Array; // the node of each cell, row by row, -1 for none
  placeOf: Map<number, number>; // the cell of each node
  blocks: Block[];
};

/** Columns and rows that a key goes. */
export const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
const SIZES = [28, 24, 20, 18, 16, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4];
const HEAD = 18; // pixels above a block for its label
const LETTER = 6.7; // pixels
const NAMED_CELL = { heights: [38, 26], maxWidth: 200, maxNodes: 400 };
const NUMBERED_CELL = 24; // pixels of a cell with room for a number
const MIN_BLOCK_WIDTH = 76; // pixels of a block, so that its label says something

/** Names without the domain that all of them end with: ip-10-0-0-1 of ip-10-0-0-1.eu-west-1.compute.internal. */
export function shortNames(names: string[]): string[] {
  const domain = names[0]?.replace(/^[^.]*/, "") ?? "";
  return domain && names.every((name) => name.endsWith(domain) && name.length > domain.length)
    ? names.map((name) => name.slice(0, -domain.length))
    : names;
}

type Cell = { width: number; height: number };

/** The largest cells with which all groups stay within `width` × `maxHeight` pixels; with room for names where that fits. */
export function arrangeCells(groups: Group[], names: string[], width: number, maxHeight: number): Grid {
  const count = groups.reduce((sum, group) => sum + group.nodes.length, 0);
  if (count <= NAMED_CELL.maxNodes) {
    const longest = Math.max(4, ...groups.flatMap((group) => group.nodes.map((node) => names[node]?.length ?? 0)));
    const nameWidth = longest * LETTER + 12;
    for (const height of nameWidth <= Math.min(NAMED_CELL.maxWidth, width) ? NAMED_CELL.heights : []) {
      const lines = height === NAMED_CELL.heights[0] ? 2 : 1;
      const grid = packBlocks(groups, { width: nameWidth, height }, width, true, lines);
      if (grid.rows * grid.cellHeight <= maxHeight) return grid;
    }
  }
  let grid: Grid | undefined;
  for (const size of SIZES) {
    grid = packBlocks(groups, { width: size, height: size }, width, false, size >= NUMBERED_CELL ? 1 : 0);
    if (grid.rows * size <= maxHeight) return grid;
  }
  return grid!;
}

function packBlocks(groups: Group[], cell: Cell, width: number, hasNames: boolean, lines: Grid["lines"]): Grid {
  const columns = Math.max(1, Math.floor(width / cell.width));
  const head = Math.ceil(HEAD / cell.height);
  const gap = hasNames ? 0 : 1;
  const narrowest = Math.min(columns, Math.ceil(MIN_BLOCK_WIDTH / cell.width));
  const blocks: Block[] = [];
  let row = 0;
  for (let first = 0; first < groups.length; ) {
    const strip = fillStrip(groups, first, columns, gap, narrowest, cell);
    let column = 0;
    for (const [place, blockWidth] of strip.widths.entries()) {
      const group = groups[first + place]!;
      const height = Math.ceil(group.nodes.length / blockWidth);
      blocks.push({
        label: group.label,
        count: group.nodes.length,
        column,
        row: row + head,
        width: blockWidth,
        height,
      });
      column += blockWidth + gap;
    }
    first += strip.widths.length;
    row += head + strip.height + (first < groups.length && !hasNames ? 1 : 0);
  }
  // Cells are as wide as the width lets them, so that a map ends where its page does.
  const cellWidth = Math.min(width / columns, cell.width * 1.5);
  return placeNodes(groups, blocks, {
    columns,
    rows: Math.max(row, 1),
    cellWidth,
    cellHeight: cell.height,
    hasNames,
    lines,
  });
}

type Strip = { height: number; widths: number[] };

/** As many groups from `first` on as make their blocks most like squares, side by side at one height. */
function fillStrip(groups: Group[], first: number, columns: number, gap: number, narrowest: number, cell: Cell): Strip {
  let best: Strip | undefined;
  let bestRatio = Infinity;
  for (let count = 1; first + count <= groups.length; count += 1) {
    const sizes = groups.slice(first, first + count).map((group) => group.nodes.length);
    const strip = fitSideBySide(sizes, columns, gap, narrowest);
    if (!strip) break;
    const ratios = strip.widths.map((width) => {
      const ratio = (width * cell.width) / (strip.height * cell.height);
      return Math.max(ratio, 1 / ratio);
    });
    const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / count;
    if (mean > bestRatio) break;
    [best, bestRatio] = [strip, mean];
  }
  return best ?? { height: Math.ceil((groups[first]?.nodes.length ?? 1) / columns), widths: [columns] };
}

/** The lowest height at which blocks of these sizes stand side by side; nothing where even the narrowest do not. */
function fitSideBySide(sizes: number[], columns: number, gap: number, narrowest: number): Strip | undefined {
  const room = columns - gap * (sizes.length - 1);
  if (room < narrowest * sizes.length) return undefined;
  const widths = (height: number) => sizes.map((size) => Math.max(narrowest, Math.ceil(size / height)));
  let low = 1;
  for (let high = Math.max(...sizes, 1); low < high; ) {
    const middle = (low + high) >> 1;
    if (widths(middle).reduce((sum, width) => sum + width, 0) <= room) high = middle;
    else low = middle + 1;
  }
  // A group alone takes the whole width.
  return { height: low, widths: sizes.length === 1 && sizes[0]! > room ? [room] : widths(low) };
}

function placeNodes(groups: Group[], blocks: Block[], size: Omit<Grid, "cells" | "placeOf" | "blocks">): Grid {
  const cells = new Int32Array(size.columns * size.rows).fill(-1);
  const placeOf = new Map<number, number>();
  for (const [index, block] of blocks.entries()) {
    for (const [place, node] of groups[index]!.nodes.entries()) {
      const cell = (block.row + Math.floor(place / block.width)) * size.columns + block.column + (place % block.width);
      cells[cell] = node;
      placeOf.set(node, cell);
    }
  }
  return { ...size, cells, placeOf, blocks };
}

/** The next cell with a node from `cell` on by `right` and `down`; `cell` itself where there is none. */
export function neighbourCell(grid: Grid, cell: number, right: number, down: number): number {
  let column = cell % grid.columns;
  let row = Math.floor(cell / grid.columns);
  for (;;) {
    column += right;
    row += down;
    if (row < 0 || row >= grid.rows) return cell;
    if (column < 0 || column >= grid.columns) {
      // At the end of a line the next one goes on.
      if (!right) return cell;
      row += right;
      column = right > 0 ? 0 : grid.columns - 1;
      if (row < 0 || row >= grid.rows) return cell;
    }
    if (down) {
      const node = nearestCell(grid, row, column);
      if (node >= 0) return node;
    } else if ((grid.cells[row * grid.columns + column] ?? -1) >= 0) return row * grid.columns + column;
  }
}

/** The cell with a node in `row` that is closest to `column`, within a tenth of the width; -1 for none. */
function nearestCell(grid: Grid, row: number, column: number): number {
  for (let distance = 0; distance <= Math.max(2, grid.columns / 10); distance += 1) {
    for (const place of [column - distance, column + distance]) {
      if (place >= 0 && place < grid.columns && (grid.cells[row * grid.columns + place] ?? -1) >= 0) {
        return row * grid.columns + place;
      }
    }
  }
  return -1;
}

export type Place = { node: number; column: number; row: number };

/** What lies at `x`, `y` pixels of the map; the node is -1 beside the cells. */
export function placeAt(grid: Grid, x: number, y: number): Place {
  const [column, row] = [Math.floor(x / grid.cellWidth), Math.floor(y / grid.cellHeight)];
  const inside = column >= 0 && column < grid.columns && row >= 0 && row < grid.rows;
  return { node: inside ? grid.cells[row * grid.columns + column]! : -1, column, row };
}

/** The group whose label is at a place: it stands above the group's block. */
export function labelAt(grid: Grid, { column, row }: Place): string | undefined {
  const above = (block: Block) => row < block.row && row >= block.row - 4;
  const spansColumn = (block: Block) => column >= block.column && column < block.column + block.width;
  return grid.blocks.find((block) => above(block) && spansColumn(block))?.label;
}
