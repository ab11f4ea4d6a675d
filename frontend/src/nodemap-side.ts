// One map: its columns, fetched once, and its drawing by Plotly as a single heatmap.
import Plotly from "plotly.js-cartesian-dist-min";
import { type Column, element, lastIndexUntil, type Numbers, themeColour, unpack } from "./columns";
import { Grouping, type GroupingColumns } from "./nodemap-groups";
import { firstFrames, Hatch } from "./nodemap-hatch";
import { ink } from "./nodemap-ink";
import type { Grid } from "./nodemap-layout";
import { CIVIDIS, STATES } from "./nodemap-legend";
import { type Colouring, type NodeValues, translateColouring, translateStates } from "./nodemap-words";
import { t } from "./words";

type Answer = {
  names: string[];
  groupings: GroupingColumns[];
  times: number[];
  exact: boolean;
  shows: Colouring[];
};
type Frames = Column & { show: string; times: number };

const MARKS = ["", "", "", "‖", "×"];
const MOST_MARKS = 600;
const DIMMED = -1;
const STATE = "state";

export class Side {
  names: string[] = [];
  groupings: Grouping[] = [];
  times: number[] = [0];
  shows: Colouring[] = [];
  states: string[] = [];
  /** The place of each node of the page among this map's own, -1 where it has no such node. */
  private ownIndices: Int32Array = new Int32Array(0);
  private exact = true;
  private readonly columnRequests = new Map<string, Promise<Numbers>>();
  private readonly loadedColumns = new Map<string, Numbers>();
  private exactMoment: { time: number; numbers: Map<string, Numbers> } | undefined;
  private firstFrameByNode: Int32Array = new Int32Array(0); // the first frame of each of its nodes
  private drawnGrid: Grid | undefined;

  readonly plot: HTMLElement;
  readonly holder: HTMLElement;
  private readonly hatch: Hatch;
  /** The server's sentence. It has means of exact values; those that come over REST are rounded. */
  readonly serverSummary: string;

  constructor(readonly root: HTMLElement) {
    this.serverSummary = root.querySelector("[data-summary]")?.textContent?.trim() ?? "";
    this.holder = root.querySelector<HTMLElement>("[data-plot]")!;
    this.plot = element("div", "nodemap-plot");
    this.holder.prepend(this.plot);
    this.hatch = new Hatch(this.holder);
  }

  async load(): Promise<void> {
    const answer = await this.get<Answer>(this.root.dataset.columns ?? "");
    this.names = answer.names;
    this.groupings = answer.groupings.map((columns) => new Grouping(columns));
    [this.times, this.exact] = [answer.times, answer.exact];
    [this.shows, this.states] = [answer.shows.map(translateColouring), translateStates()];
  }

  private async get<Body>(address: string): Promise<Body> {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    const body = (await answer.json()) as Body & { detail?: string };
    if (!answer.ok) throw new Error(body.detail ?? t("The server answered %(status)s.", { status: answer.status }));
    return body;
  }

  /** Takes its place among the nodes of the page, which all maps share. */
  indexNodes(index: Map<string, number>): void {
    this.ownIndices = new Int32Array(index.size).fill(-1);
    for (const [place, name] of this.names.entries()) this.ownIndices[index.get(name)!] = place;
  }

  private findGrouping(label: string): Grouping | undefined {
    return this.groupings.find((grouping) => grouping.label === label);
  }

  /** How often nodes have come into another group by `time`. */
  shiftCount(groupBy: string, time: number): number {
    return this.findGrouping(groupBy)?.shiftCount(time) ?? 0;
  }

  /** The group of each node of the page at `time`, "" where it has none. */
  groupsAt(groupBy: string, time: number): string[] {
    const values = this.findGrouping(groupBy)?.valuesAt(time) ?? [];
    return Array.from(this.ownIndices, (place) => values[place] ?? "");
  }

  private address(show: string, parameters = ""): string {
    const address = this.root.dataset.frames ?? "";
    return `${address}${address.includes("?") ? "&" : "?"}show=${encodeURIComponent(show)}${parameters}`;
  }

  /** Fetches the frames of what is shown, of pods and of states, once; the nodes need not be known yet. */
  async fetchFrames(show: string): Promise<void> {
    const requests = [show, "pods", STATE].map(async (name) => {
      if (!this.columnRequests.has(name))
        this.columnRequests.set(name, this.get<Frames>(this.address(name)).then(unpack));
      this.loadedColumns.set(name, await this.columnRequests.get(name)!);
    });
    await Promise.all(requests);
  }

  /** As `fetchFrames`, once the nodes are known; also finds the first frame of each node. */
  async prepare(show: string): Promise<void> {
    await this.fetchFrames(show);
    const { data, absent } = this.loadedColumns.get(STATE)!;
    if (!this.firstFrameByNode.length) this.firstFrameByNode = firstFrames(data, absent, this.names.length);
  }

  /** Where the frames are apart: the very values of `time`, once the person rests there. */
  async loadExact(show: string, time: number): Promise<boolean> {
    if (this.exact || this.times.some((frameTime) => Math.abs(frameTime - time) < 1e-6)) return false;
    const names = [...new Set([show, STATE])];
    const frames = await Promise.all(names.map((name) => this.get<Frames>(this.address(name, `&at=${time}`))));
    this.exactMoment = { time, numbers: new Map(names.map((name, place) => [name, unpack(frames[place]!)])) };
    return true;
  }

  /** What is shown of each node of the page at `time`. */
  valuesAt(show: string, time: number): NodeValues {
    return { values: this.column(show, time), pods: this.column("pods", time) };
  }

  /** Which nodes of the page are gone at `time`: not ready, or taken away. */
  goneAt(time: number): Uint8Array {
    const [states, frame, notReady] = [
      this.column(STATE, time),
      lastIndexUntil(this.times, time),
      this.states.length - 1,
    ];
    return Uint8Array.from(this.ownIndices, (place, node) => {
      const isDeleted = Number.isNaN(states[node]) && place >= 0 && this.firstFrameByNode[place]! <= frame;
      return Number(isDeleted || states[node] === notReady);
    });
  }

  private column(show: string, time: number): Float64Array {
    const values = new Float64Array(this.ownIndices.length).fill(NaN);
    const exactNumbers =
      this.exactMoment && Math.abs(this.exactMoment.time - time) < 1e-6
        ? this.exactMoment.numbers.get(show)
        : undefined;
    const numbers = exactNumbers ?? this.loadedColumns.get(show);
    if (!numbers) return values;
    const begin = exactNumbers ? 0 : lastIndexUntil(this.times, time) * this.names.length;
    for (let node = 0; node < values.length; node += 1) {
      const place = this.ownIndices[node]!;
      const value = place < 0 ? numbers.absent : numbers.data[begin + place]!;
      if (value !== numbers.absent) values[node] = value;
    }
    return values;
  }

  /** The largest value of all times. */
  maxValue(show: Colouring): number {
    const numbers = this.loadedColumns.get(show.name);
    let maximum = 1;
    for (const value of numbers?.data ?? []) if (value !== numbers!.absent && value > maximum) maximum = value;
    return maximum;
  }

  /** Draws the cells; only colours change where the grid is the one that stands there. */
  draw(
    grid: Grid,
    show: Colouring,
    values: ArrayLike<number>,
    goneNodes: Uint8Array,
    matchingNodes: Uint8Array | undefined,
    maxValue: number,
    redraw: boolean,
  ): void {
    this.hatch.draw(grid, goneNodes);
    const z: (number | null)[][] = [];
    for (let row = 0; row < grid.rows; row += 1) {
      const line: (number | null)[] = new Array<number | null>(grid.columns);
      for (let column = 0; column < grid.columns; column += 1) {
        const node = grid.cells[row * grid.columns + column]!;
        const value = node < 0 ? NaN : values[node]!;
        line[column] = Number.isNaN(value) ? null : matchingNodes && !matchingNodes[node] ? DIMMED : value;
      }
      z.push(line);
    }
    const marks = grid.hasNames ? this.nameMarks(grid, show, z, maxValue) : this.marks(grid, show, values);
    if (this.drawnGrid === grid && !redraw) {
      void Plotly.restyle(this.plot, { z: [z] }, [0]);
      const { x, y, text, colours } = marks;
      if (!show.unit || grid.hasNames) {
        void Plotly.restyle(this.plot, { x: [x], y: [y], text: [text], "textfont.color": [colours] }, [1]);
      }
      return;
    }
    this.drawnGrid = grid;
    this.plot.style.height = `${grid.rows * grid.cellHeight}px`;
    void Plotly.react(this.plot, this.traces(grid, show, z, marks, maxValue), this.layout(grid), { staticPlot: true });
  }

  private traces(grid: Grid, show: Colouring, z: (number | null)[][], marks: Marks, maxValue: number): object[] {
    const states = !show.unit;
    const gap = grid.cellHeight >= 7 ? 1 : 0;
    const heatmap = {
      type: "heatmap",
      z,
      zmin: states ? DIMMED - 0.5 : DIMMED,
      zmax: states ? this.states.length - 0.5 : maxValue,
      colorscale: scale(states ? STATES : CIVIDIS, states, maxValue, themeColour("line")),
      showscale: false,
      hoverinfo: "skip",
      xgap: gap,
      ygap: gap,
    };
    const { x, y, text, colours } = marks;
    const textfont = { color: colours, size: grid.hasNames ? 11 : 12 };
    return [heatmap, { type: "scatter", mode: "text", x, y, text, textfont, hoverinfo: "skip" }];
  }

  /** Names of nodes, in what can be read on their cells; Plotly's own choice is pale on colours of middle tone. */
  private nameMarks(grid: Grid, show: Colouring, z: (number | null)[][], maxValue: number): Marks {
    const marks: Marks = { x: [], y: [], text: [], colours: [] };
    const plain = themeColour("text");
    for (const [node, cell] of grid.placeOf) {
      const [column, row] = [cell % grid.columns, Math.floor(cell / grid.columns)];
      const value = z[row]![column] ?? DIMMED;
      const share = show.unit ? value / maxValue : value / (STATES.length - 1);
      marks.x.push(column);
      marks.y.push(row);
      marks.text.push(this.names[this.ownIndices[node]!] ?? "");
      marks.colours.push(value === DIMMED ? plain : ink(show.unit ? CIVIDIS : STATES, share));
    }
    return marks;
  }

  /** States that need a person carry a mark beside their colour, where cells are large enough for one. */
  private marks(grid: Grid, show: Colouring, values: ArrayLike<number>): Marks {
    const stateMarks: Marks = { x: [], y: [], text: [], colours: [] };
    if (show.unit || grid.cellHeight < 9) return stateMarks;
    for (const [node, cell] of grid.placeOf) {
      const mark = MARKS[values[node] ?? 0];
      if (!mark) continue;
      stateMarks.x.push(cell % grid.columns);
      stateMarks.y.push(Math.floor(cell / grid.columns));
      stateMarks.text.push(mark);
      stateMarks.colours.push("#000");
      if (stateMarks.x.length === MOST_MARKS) break;
    }
    return stateMarks;
  }

  private layout(grid: Grid): object {
    const width = grid.columns * grid.cellWidth;
    const axis = { visible: false, fixedrange: true };
    const font = { family: getComputedStyle(document.body).fontFamily, size: 11, color: themeColour("text") };
    return {
      width,
      height: grid.rows * grid.cellHeight,
      margin: { l: 0, r: 0, t: 0, b: 0 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      showlegend: false,
      xaxis: { ...axis, range: [-0.5, grid.columns - 0.5] },
      yaxis: { ...axis, range: [grid.rows - 0.5, -0.5] },
      annotations: grid.blocks.map((block) => ({
        x: block.column - 0.5,
        y: block.row - 0.5,
        xanchor: "left",
        yanchor: "bottom",
        xshift: -2,
        yshift: -1,
        showarrow: false,
        align: "left",
        text: clipped(block.label, block.count, block.width * grid.cellWidth),
        font,
      })),
    };
  }
}

type Marks = { x: number[]; y: number[]; text: string[]; colours: string[] };

/** The name of a group and how many nodes it has, as far as its block is wide. */
function clipped(label: string, count: number, pixels: number): string {
  const number = ` ${count.toLocaleString("en-US")}`;
  const letters = Math.floor(pixels / 6.4) - number.length;
  const name = label.length <= letters ? label : letters > 3 ? `${label.slice(0, letters - 1)}…` : "";
  return `${name}${number}`.replace(/[<>&]/g, "·").trim();
}

/** Plotly's scale: a first piece for nodes that are dimmed, then the colours, in bands where they are states. */
function scale(colours: string[], bands: boolean, maxValue: number, dimmed: string): [number, string][] {
  const pieces = colours.length + 1;
  if (bands)
    return [dimmed, ...colours].flatMap((colour, place) => [
      [place / pieces, colour],
      [(place + 1) / pieces, colour],
    ]);
  const first = 0.5 / (maxValue + 1);
  const begin = 1 / (maxValue + 1);
  // The last place has to be 1 to the last bit, or Plotly takes a scale of its own.
  const end = colours.length - 1;
  const steps = colours.map((colour, place): [number, string] => [
    place === end ? 1 : begin + ((1 - begin) * place) / end,
    colour,
  ]);
  return [[0, dimmed], [first, dimmed], [first, colours[0]!], ...steps];
}
