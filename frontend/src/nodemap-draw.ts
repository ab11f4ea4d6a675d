// The drawing of a map: one SVG path a colour, so that 5,000 cells are a dozen elements, and the theme colours them.
import { formatNumber } from "./columns";
import type { Grid } from "./nodemap-layout";

const SVG = "http://www.w3.org/2000/svg";
const GAP = 1; // pixels between two cells, where these are large enough
const ICON = 9; // pixels
const MIN_ICON_CELL = 20; // pixels of a cell that has room for a sign

/** Borders of cells, the more important later: they lie above each other. */
export type Border = "full" | "cordoned" | "not-ready" | "gone" | "changed";
export const BORDERS: Border[] = ["full", "cordoned", "not-ready", "gone", "changed"];

/** What the cell of a node looks like. */
export type Cell = {
  fill: string; // the class of its colour, "" for none
  name: string;
  detail: string; // a number or a word below the name
  borders: Border[];
};

/** The outline of the cells that `grid` gives to `nodes`, `inset` pixels inside. */
export function outlineCells(grid: Grid, nodes: Iterable<number>, inset = 0): string {
  const gap = Math.min(grid.cellWidth, grid.cellHeight) >= 7 ? GAP : 0;
  // In a map of many nodes the inset may be all of a cell.
  const [width, height] = [grid.cellWidth, grid.cellHeight].map((size) => round(Math.max(size - gap - 2 * inset, 0.5)));
  let path = "";
  for (const node of nodes) {
    const place = grid.placeOf.get(node);
    if (place === undefined) continue;
    const { x, y } = cornerOf(grid, place);
    path += `M${round(x + inset)} ${round(y + inset)}h${width}v${height}h-${width}z`;
  }
  return path;
}

export class Drawing {
  readonly svg: SVGSVGElement;

  constructor(holder: HTMLElement) {
    this.svg = createSvg<SVGSVGElement>("svg", { class: "nodemap-svg", "aria-hidden": "true" });
    holder.prepend(this.svg);
  }

  /** The place of the map on the screen. */
  get box(): DOMRect {
    return this.svg.getBoundingClientRect();
  }

  drawCells(grid: Grid, cellOf: (node: number) => Cell): void {
    const cells = new Map<number, Cell>();
    const nodesByFill = new Map<string, number[]>();
    const nodesByBorder = new Map<Border, number[]>(BORDERS.map((border) => [border, []]));
    for (const node of grid.placeOf.keys()) {
      const cell = cellOf(node);
      cells.set(node, cell);
      const sameFill = nodesByFill.get(cell.fill);
      if (sameFill) sameFill.push(node);
      else nodesByFill.set(cell.fill, [node]);
      for (const border of cell.borders) nodesByBorder.get(border)!.push(node);
    }
    const parts = [...nodesByFill].map(([fill, nodes]) =>
      createSvg("path", { class: fill ? `cell ${fill}` : "cell absent", d: outlineCells(grid, nodes) }),
    );
    for (const [border, nodes] of nodesByBorder) if (nodes.length) parts.push(...drawBorder(grid, border, nodes));
    parts.push(createSvg("path", { class: "divider", d: divideBlocks(grid) }));
    if (grid.lines) parts.push(...[...cells].flatMap(([node, cell]) => drawWords(grid, node, cell)));
    parts.push(...grid.blocks.map((block) => drawLabel(grid, block)));
    const [width, height] = [Math.floor(grid.columns * grid.cellWidth), grid.rows * grid.cellHeight];
    // On paper, which is narrower, the map shrinks as a picture does.
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` }))
      this.svg.setAttribute(name, String(value));
    this.svg.replaceChildren(...parts);
  }
}

function drawBorder(grid: Grid, border: Border, nodes: number[]): SVGElement[] {
  const isSmall = Math.min(grid.cellWidth, grid.cellHeight) < 9;
  const d = outlineCells(grid, nodes, isSmall ? 0.5 : 1.5);
  const kind = `border ${border}${isSmall ? " small" : ""}`;
  // A light line below the dark one is seen on every colour.
  const lines = [createSvg("path", { class: `${kind} below`, d }), createSvg("path", { class: kind, d })];
  if (Math.min(grid.cellWidth, grid.cellHeight) < MIN_ICON_CELL || border === "changed") return lines;
  const icons = nodes.map((node) => {
    const { x, y } = cornerOf(grid, grid.placeOf.get(node)!);
    return iconPath(border, round(x + grid.cellWidth - ICON - 4), round(y + grid.cellHeight - ICON - 4));
  });
  return [
    ...lines,
    createSvg("path", { class: `${kind} icon below`, d: icons.join("") }),
    createSvg("path", { class: `${kind} icon`, d: icons.join("") }),
  ];
}

/** A sign in a square of ICON pixels: a bar across a ring, a cross, a filled square's outline. */
function iconPath(border: Border, x: number, y: number): string {
  const size = ICON - 2;
  if (border === "cordoned") {
    const radius = size / 2;
    return `M${x} ${y + radius}a${radius} ${radius} 0 1 0 ${size} 0a${radius} ${radius} 0 1 0 ${-size} 0M${x + 1} ${y + 1}l${size - 2} ${size - 2}`;
  }
  if (border === "full") return `M${x} ${y + size}h${size}M${x} ${y + size / 2}h${size}M${x} ${y}h${size}`;
  return `M${x} ${y}l${size} ${size}M${x + size} ${y}l${-size} ${size}`;
}

function drawWords(grid: Grid, node: number, cell: Cell): SVGElement[] {
  const { x, y } = cornerOf(grid, grid.placeOf.get(node)!);
  const ink = cell.fill ? `ink-${cell.fill}` : "ink-absent";
  const middle = round(x + (grid.cellWidth - GAP) / 2);
  const [nameLine, detailLine] = grid.lines === 2 ? [0.4, 0.78] : [0.64, 0.64];
  const words: SVGElement[] = [];
  if (grid.hasNames)
    words.push(createText(cell.name, { class: `name ${ink}`, x: middle, y: round(y + nameLine * grid.cellHeight) }));
  if (cell.detail && (grid.lines === 2 || !grid.hasNames))
    words.push(
      createText(shorten(cell.detail, grid.cellWidth), {
        class: `detail ${ink}`,
        x: middle,
        y: round(y + detailLine * grid.cellHeight),
      }),
    );
  return words;
}

/** The left edges of blocks that touch another one. */
function divideBlocks(grid: Grid): string {
  return grid.blocks
    .filter((block) => block.column > 0)
    .map(
      (block) =>
        `M${round(block.column * grid.cellWidth)} ${block.row * grid.cellHeight}v${block.height * grid.cellHeight}`,
    )
    .join("");
}

function shorten(words: string, width: number): string {
  const letters = Math.floor(width / 6.4);
  return words.length <= letters ? words : `${words.slice(0, letters - 1)}…`;
}

function drawLabel(grid: Grid, block: Grid["blocks"][number]): SVGElement {
  const label = clipLabel(block.label, block.count, block.width * grid.cellWidth);
  return createText(label, {
    class: "group",
    x: round(block.column * grid.cellWidth),
    y: block.row * grid.cellHeight - 5,
  });
}

/** The name of a group and how many nodes it has, as far as its block is wide. */
function clipLabel(label: string, count: number, pixels: number): string {
  const number = ` ${formatNumber(count)}`;
  const letters = Math.floor(pixels / 6.4) - number.length;
  const name = label.length <= letters ? label : letters > 3 ? `${label.slice(0, letters - 1)}…` : "";
  return `${name}${number}`.trim();
}

function cornerOf(grid: Grid, place: number): { x: number; y: number } {
  return { x: (place % grid.columns) * grid.cellWidth, y: Math.floor(place / grid.columns) * grid.cellHeight };
}

const round = (value: number) => Math.round(value * 10) / 10;

function createText(content: string, attributes: Record<string, string | number>): SVGElement {
  const svgText = createSvg("text", attributes);
  svgText.textContent = content;
  return svgText;
}

function createSvg<Kind extends SVGElement = SVGElement>(
  name: string,
  attributes: Record<string, string | number> = {},
): Kind {
  const svgElement = document.createElementNS(SVG, name) as Kind;
  for (const [key, value] of Object.entries(attributes)) svgElement.setAttribute(key, String(value));
  return svgElement;
}
