// Nodes that are gone, not ready or taken away: hatched, whatever the colours show.
import type { Grid } from "./nodemap-layout";

const SVG = "http://www.w3.org/2000/svg";
const APART = 9; // pixels between two lines
let patternCount = 0;

/** The frame in which each node is there for the first time, the number of frames for never. */
export function firstFrames(states: ArrayLike<number>, absent: number, nodes: number): Int32Array {
  const frames = nodes ? states.length / nodes : 0;
  const lastFrames = new Int32Array(nodes).fill(frames);
  for (let frame = frames - 1; frame >= 0; frame -= 1)
    for (let node = 0; node < nodes; node += 1) if (states[frame * nodes + node] !== absent) lastFrames[node] = frame;
  return lastFrames;
}

/** The outline of the cells of the nodes in `gone`, as the path of an SVG. */
export function outline(grid: Grid, gone: ArrayLike<number>): string {
  let path = "";
  for (const [node, cell] of grid.placeOf) {
    if (!gone[node]) continue;
    const [x, y] = [(cell % grid.columns) * grid.cellWidth, Math.floor(cell / grid.columns) * grid.cellHeight];
    path += `M${x} ${y}h${grid.cellWidth}v${grid.cellHeight}h${-grid.cellWidth}z`;
  }
  return path;
}

/** Lines over a map: light ones below dark ones, so that they are seen on every colour. */
export class Hatch {
  private readonly root: SVGElement;
  private readonly path: SVGElement;

  constructor(holder: HTMLElement) {
    patternCount += 1;
    const id = `hatch-${patternCount}`;
    this.root = part(holder, "svg", { class: "nodemap-hatch", "aria-hidden": "true" });
    const pattern = part(part(this.root, "defs"), "pattern", {
      id,
      width: APART,
      height: APART,
      patternUnits: "userSpaceOnUse",
      patternTransform: "rotate(45)",
    });
    part(pattern, "line", { class: "below", y2: APART });
    part(pattern, "line", { class: "above", y2: APART });
    this.path = part(this.root, "path", { fill: `url(#${id})` });
  }

  draw(grid: Grid, gone: ArrayLike<number>): void {
    this.root.setAttribute("width", String(grid.columns * grid.cellWidth));
    this.root.setAttribute("height", String(grid.rows * grid.cellHeight));
    this.path.setAttribute("d", outline(grid, gone));
  }
}

function part(parent: Element, name: string, attributes: Record<string, string | number> = {}): SVGElement {
  const created = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, String(value));
  parent.append(created);
  return created;
}
