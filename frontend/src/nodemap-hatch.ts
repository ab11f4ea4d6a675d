// Nodes that are gone, not ready or taken away: hatched, whatever the colours show.
import type { Grid } from "./nodemap-layout";

const SVG = "http://www.w3.org/2000/svg";
const LINE_SPACING = 9; // pixels between two lines
let patternCount = 0;

/** The frame in which each node is there for the first time, the number of frames for never. */
export function firstFrames(states: ArrayLike<number>, absent: number, nodes: number): Int32Array {
  const frames = nodes ? states.length / nodes : 0;
  const firstFrame = new Int32Array(nodes).fill(frames);
  for (let frame = frames - 1; frame >= 0; frame -= 1)
    for (let node = 0; node < nodes; node += 1) if (states[frame * nodes + node] !== absent) firstFrame[node] = frame;
  return firstFrame;
}

/** The outline of the cells of the nodes that `goneNodes` marks, as the path of an SVG. */
export function outline(grid: Grid, goneNodes: ArrayLike<number>): string {
  let path = "";
  for (const [node, cell] of grid.placeOf) {
    if (!goneNodes[node]) continue;
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
    this.root = appendSvg(holder, "svg", { class: "nodemap-hatch", "aria-hidden": "true" });
    const pattern = appendSvg(appendSvg(this.root, "defs"), "pattern", {
      id,
      width: LINE_SPACING,
      height: LINE_SPACING,
      patternUnits: "userSpaceOnUse",
      patternTransform: "rotate(45)",
    });
    appendSvg(pattern, "line", { class: "below", y2: LINE_SPACING });
    appendSvg(pattern, "line", { class: "above", y2: LINE_SPACING });
    this.path = appendSvg(this.root, "path", { fill: `url(#${id})` });
  }

  draw(grid: Grid, goneNodes: ArrayLike<number>): void {
    this.root.setAttribute("width", String(grid.columns * grid.cellWidth));
    this.root.setAttribute("height", String(grid.rows * grid.cellHeight));
    this.path.setAttribute("d", outline(grid, goneNodes));
  }
}

function appendSvg(parent: Element, name: string, attributes: Record<string, string | number> = {}): SVGElement {
  const svgElement = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) svgElement.setAttribute(key, String(value));
  parent.append(svgElement);
  return svgElement;
}
