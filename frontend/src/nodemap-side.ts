// One map: its columns, fetched once, and its drawing by Plotly as a single heatmap.
import Plotly from "plotly.js-cartesian-dist-min";
import { type Column, element, last, type Numbers, token, unpack } from "./columns";
import { firstFrames, Hatch } from "./nodemap-gone";
import { Grouping, type GroupingColumns } from "./nodemap-groups";
import { ink } from "./nodemap-ink";
import type { Grid } from "./nodemap-layout";
import { CIVIDIS, STATES } from "./nodemap-legend";
import { type Show, type Values, worded, wordedStates } from "./nodemap-words";
import { t } from "./words";

type Answer = {
  names: string[];
  groupings: GroupingColumns[];
  times: number[];
  exact: boolean;
  shows: Show[];
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
  shows: Show[] = [];
  states: string[] = [];
  /** The place of each node of the page among this map's own, -1 where it has no such node. */
  private own: Int32Array = new Int32Array(0);
  private exact = true;
  private readonly columns = new Map<string, Promise<Numbers>>();
  private readonly known = new Map<string, Numbers>();
  private moment: { time: number; numbers: Map<string, Numbers> } | undefined;
  private begun: Int32Array = new Int32Array(0); // the first frame of each of its nodes
  private drawn: Grid | undefined;

  readonly plot: HTMLElement;
  readonly holder: HTMLElement;
  private readonly hatch: Hatch;
  /** The server's sentence. It has means of exact values; those that come over REST are rounded. */
  readonly said: string;

  constructor(readonly root: HTMLElement) {
    this.said = root.querySelector("[data-summary]")?.textContent?.trim() ?? "";
    this.holder = root.querySelector<HTMLElement>("[data-plot]")!;
    this.plot = element("div", "nodemap-plot");
    this.holder.prepend(this.plot);
    this.hatch = new Hatch(this.holder);
  }

  async load(): Promise<void> {
    const found = await this.get<Answer>(this.root.dataset.columns ?? "");
    this.names = found.names;
    this.groupings = found.groupings.map((one) => new Grouping(one));
    [this.times, this.exact] = [found.times, found.exact];
    [this.shows, this.states] = [found.shows.map(worded), wordedStates()];
  }

  private async get<Found>(address: string): Promise<Found> {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    const body = (await answer.json()) as Found & { detail?: string };
    if (!answer.ok) throw new Error(body.detail ?? t("The server answered %(status)s.", { status: answer.status }));
    return body;
  }

  /** Takes its place among the nodes of the page, which all maps share. */
  among(index: Map<string, number>): void {
    this.own = new Int32Array(index.size).fill(-1);
    for (const [place, name] of this.names.entries()) this.own[index.get(name)!] = place;
  }

  private by(label: string): Grouping | undefined {
    return this.groupings.find((one) => one.label === label);
  }

  /** How often nodes have come into another group by `time`. */
  shifted(by: string, time: number): number {
    return this.by(by)?.shifted(time) ?? 0;
  }

  /** The group of each node of the page at `time`, "" where it has none. */
  groupsAt(by: string, time: number): string[] {
    const now = this.by(by)?.at(time) ?? [];
    return Array.from(this.own, (place) => now[place] ?? "");
  }

  private address(show: string, more = ""): string {
    const address = this.root.dataset.frames ?? "";
    return `${address}${address.includes("?") ? "&" : "?"}show=${encodeURIComponent(show)}${more}`;
  }

  /** Fetches the frames of what is shown, of pods and of states, once; the nodes need not be known yet. */
  async ask(show: string): Promise<void> {
    const fetched = [show, "pods", STATE].map(async (name) => {
      if (!this.columns.has(name)) this.columns.set(name, this.get<Frames>(this.address(name)).then(unpack));
      this.known.set(name, await this.columns.get(name)!);
    });
    await Promise.all(fetched);
  }

  /** As `ask`, once the nodes are known. */
  async need(show: string): Promise<void> {
    await this.ask(show);
    const { data, absent } = this.known.get(STATE)!;
    if (!this.begun.length) this.begun = firstFrames(data, absent, this.names.length);
  }

  /** Where the frames are apart: the very values of `time`, once the person rests there. */
  async settle(show: string, time: number): Promise<boolean> {
    if (this.exact || this.times.some((one) => Math.abs(one - time) < 1e-6)) return false;
    const names = [...new Set([show, STATE])];
    const found = await Promise.all(names.map((name) => this.get<Frames>(this.address(name, `&at=${time}`))));
    this.moment = { time, numbers: new Map(names.map((name, place) => [name, unpack(found[place]!)])) };
    return true;
  }

  /** What is shown of each node of the page at `time`. */
  at(show: string, time: number): Values {
    return { values: this.column(show, time), pods: this.column("pods", time) };
  }

  /** Which nodes of the page are gone at `time`: not ready, or taken away. */
  gone(time: number): Uint8Array {
    const [states, frame, notReady] = [this.column(STATE, time), last(this.times, time), this.states.length - 1];
    return Uint8Array.from(this.own, (place, node) => {
      const taken = Number.isNaN(states[node]) && place >= 0 && this.begun[place]! <= frame;
      return Number(taken || states[node] === notReady);
    });
  }

  private column(show: string, time: number): Float64Array {
    const found = new Float64Array(this.own.length).fill(NaN);
    const rested = this.moment && Math.abs(this.moment.time - time) < 1e-6 ? this.moment.numbers.get(show) : undefined;
    const numbers = rested ?? this.known.get(show);
    if (!numbers) return found;
    const begin = rested ? 0 : last(this.times, time) * this.names.length;
    for (let node = 0; node < found.length; node += 1) {
      const place = this.own[node]!;
      const value = place < 0 ? numbers.absent : numbers.data[begin + place]!;
      if (value !== numbers.absent) found[node] = value;
    }
    return found;
  }

  /** The largest value of all times. */
  most(show: Show): number {
    const numbers = this.known.get(show.name);
    let most = 1;
    for (const value of numbers?.data ?? []) if (value !== numbers!.absent && value > most) most = value;
    return most;
  }

  /** Draws the cells; only colours change where the grid is the one that stands there. */
  draw(
    grid: Grid,
    show: Show,
    values: ArrayLike<number>,
    gone: Uint8Array,
    kept: Uint8Array | undefined,
    most: number,
    anew: boolean,
  ): void {
    this.hatch.draw(grid, gone);
    const z: (number | null)[][] = [];
    for (let row = 0; row < grid.rows; row += 1) {
      const line: (number | null)[] = new Array<number | null>(grid.columns);
      for (let column = 0; column < grid.columns; column += 1) {
        const node = grid.cells[row * grid.columns + column]!;
        const value = node < 0 ? NaN : values[node]!;
        line[column] = Number.isNaN(value) ? null : kept && !kept[node] ? DIMMED : value;
      }
      z.push(line);
    }
    const marks = grid.named ? this.named(grid, show, z, most) : this.marks(grid, show, values);
    if (this.drawn === grid && !anew) {
      void Plotly.restyle(this.plot, { z: [z] }, [0]);
      const { x, y, text, colours } = marks;
      if (!show.unit || grid.named) {
        void Plotly.restyle(this.plot, { x: [x], y: [y], text: [text], "textfont.color": [colours] }, [1]);
      }
      return;
    }
    this.drawn = grid;
    this.plot.style.height = `${grid.rows * grid.cellHeight}px`;
    void Plotly.react(this.plot, this.traces(grid, show, z, marks, most), this.layout(grid), { staticPlot: true });
  }

  private traces(grid: Grid, show: Show, z: (number | null)[][], marks: Marks, most: number): object[] {
    const states = !show.unit;
    const gap = grid.cellHeight >= 7 ? 1 : 0;
    const heatmap = {
      type: "heatmap",
      z,
      zmin: states ? DIMMED - 0.5 : DIMMED,
      zmax: states ? this.states.length - 0.5 : most,
      colorscale: scale(states ? STATES : CIVIDIS, states, most, token("line")),
      showscale: false,
      hoverinfo: "skip",
      xgap: gap,
      ygap: gap,
    };
    const { x, y, text, colours } = marks;
    const textfont = { color: colours, size: grid.named ? 11 : 12 };
    return [heatmap, { type: "scatter", mode: "text", x, y, text, textfont, hoverinfo: "skip" }];
  }

  /** Names of nodes, in what can be read on their cells; Plotly's own choice is pale on colours of middle tone. */
  private named(grid: Grid, show: Show, z: (number | null)[][], most: number): Marks {
    const marks: Marks = { x: [], y: [], text: [], colours: [] };
    const plain = token("text");
    for (const [node, cell] of grid.placeOf) {
      const [column, row] = [cell % grid.columns, Math.floor(cell / grid.columns)];
      const value = z[row]![column] ?? DIMMED;
      const share = show.unit ? value / most : value / (STATES.length - 1);
      marks.x.push(column);
      marks.y.push(row);
      marks.text.push(this.names[this.own[node]!] ?? "");
      marks.colours.push(value === DIMMED ? plain : ink(show.unit ? CIVIDIS : STATES, share));
    }
    return marks;
  }

  /** States that need a person carry a mark beside their colour, where cells are large enough for one. */
  private marks(grid: Grid, show: Show, values: ArrayLike<number>): Marks {
    const marks: Marks = { x: [], y: [], text: [], colours: [] };
    if (show.unit || grid.cellHeight < 9) return marks;
    for (const [node, cell] of grid.placeOf) {
      const mark = MARKS[values[node] ?? 0];
      if (!mark) continue;
      marks.x.push(cell % grid.columns);
      marks.y.push(Math.floor(cell / grid.columns));
      marks.text.push(mark);
      marks.colours.push("#000");
      if (marks.x.length === MOST_MARKS) break;
    }
    return marks;
  }

  private layout(grid: Grid): object {
    const width = grid.columns * grid.cellWidth;
    const axis = { visible: false, fixedrange: true };
    const font = { family: getComputedStyle(document.body).fontFamily, size: 11, color: token("text") };
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
function scale(colours: string[], bands: boolean, most: number, dimmed: string): [number, string][] {
  const pieces = colours.length + 1;
  if (bands)
    return [dimmed, ...colours].flatMap((one, place) => [
      [place / pieces, one],
      [(place + 1) / pieces, one],
    ]);
  const first = 0.5 / (most + 1);
  const begin = 1 / (most + 1);
  // The last place has to be 1 to the last bit, or Plotly takes a scale of its own.
  const end = colours.length - 1;
  const steps = colours.map((one, place): [number, string] => [
    place === end ? 1 : begin + ((1 - begin) * place) / end,
    one,
  ]);
  return [[0, dimmed], [first, dimmed], [first, colours[0]!], ...steps];
}
