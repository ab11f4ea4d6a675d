// One map: its columns, which stand in the page or are fetched once, and what each cell looks like.
import { type Column, formatNumber, lastIndexUntil, type Numbers, unpackColumn } from "./columns";
import { type Border, type Cell, Drawing } from "./nodemap-draw";
import { Grouping, type GroupingColumns } from "./nodemap-groups";
import { type Grid, shortNames } from "./nodemap-layout";
import { categoryClass, type Range, stepClass } from "./nodemap-scale";
import { type Colouring, type NodeValues, translateColouring, translateStates } from "./nodemap-words";
import { translate } from "./words";

type Answer = {
  names: string[];
  groupings: GroupingColumns[];
  times: number[];
  exact: boolean;
  shows: Colouring[];
};
type Frames = Column & { show: string; times: number };
/** A map that stands in its page as JSON: the same as over REST, the frames by what they show. */
type Inline = Answer & { frames: Record<string, Frames> };

const STATE = "state";
const [FULL, CORDONED, NOT_READY] = [2, 3, 4];

/** What a map shows at a time. */
export type Shown = {
  show: Colouring;
  range: Range;
  time: number;
  matchingNodes: Uint8Array | undefined;
  changedNodes: Uint8Array | undefined;
};

export class MapSide {
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
  private shownNames: string[] = [];
  private readonly inline: Inline | undefined;

  readonly holder: HTMLElement;
  readonly drawing: Drawing;
  /** The server's sentence. It has means of exact values; those that come over REST are rounded. */
  readonly serverSummary: string;

  constructor(readonly root: HTMLElement) {
    this.serverSummary = root.querySelector("[data-summary]")?.textContent?.trim() ?? "";
    this.holder = root.querySelector<HTMLElement>("[data-plot]")!;
    this.drawing = new Drawing(this.holder);
    const source = root.dataset.inline ? document.getElementById(root.dataset.inline) : null;
    if (source) this.inline = JSON.parse(source.textContent ?? "") as Inline;
  }

  async loadColumns(): Promise<void> {
    const answer = this.inline ?? (await this.fetchJson<Answer>(this.root.dataset.columns ?? ""));
    this.names = answer.names;
    this.groupings = answer.groupings.map((columns) => new Grouping(columns));
    [this.times, this.exact] = [answer.times, answer.exact];
    [this.shows, this.states] = [answer.shows.map(translateColouring), translateStates()];
  }

  private async fetchJson<Body>(address: string): Promise<Body> {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    const body = (await answer.json()) as Body & { detail?: string };
    if (!answer.ok)
      throw new Error(body.detail ?? translate("The server answered %(status)s.", { status: answer.status }));
    return body;
  }

  /** Takes its place among the nodes of the page, which all maps share. */
  indexNodes(index: Map<string, number>): void {
    this.ownIndices = new Int32Array(index.size).fill(-1);
    for (const [place, name] of this.names.entries()) this.ownIndices[index.get(name)!] = place;
    this.shownNames = shortNames([...index.keys()]);
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

  private framesAddress(show: string, parameters = ""): string {
    const address = this.root.dataset.frames ?? "";
    return `${address}${address.includes("?") ? "&" : "?"}show=${encodeURIComponent(show)}${parameters}`;
  }

  private async readFrames(show: string): Promise<Frames> {
    return this.inline?.frames[show] ?? (await this.fetchJson<Frames>(this.framesAddress(show)));
  }

  /** Fetches the frames of what is shown, of pods and of states, once; the nodes need not be known yet. */
  async fetchFrames(show: string): Promise<void> {
    const requests = [show, "pods", STATE].map(async (name) => {
      if (!this.columnRequests.has(name)) this.columnRequests.set(name, this.readFrames(name).then(unpackColumn));
      this.loadedColumns.set(name, await this.columnRequests.get(name)!);
    });
    await Promise.all(requests);
  }

  /** As `fetchFrames`, once the nodes are known; also finds the first frame of each node. */
  async loadFrames(show: string): Promise<void> {
    await this.fetchFrames(show);
    const { data, absent } = this.loadedColumns.get(STATE)!;
    if (!this.firstFrameByNode.length) this.firstFrameByNode = firstFrames(data, absent, this.names.length);
  }

  /** Where the frames are apart: the very values of `time`, once the person rests there. */
  async loadExact(show: string, time: number): Promise<boolean> {
    if (this.exact || this.times.some((frameTime) => Math.abs(frameTime - time) < 1e-6)) return false;
    const names = [...new Set([show, STATE])];
    const frames = await Promise.all(
      names.map((name) => this.fetchJson<Frames>(this.framesAddress(name, `&at=${time}`))),
    );
    this.exactMoment = { time, numbers: new Map(names.map((name, place) => [name, unpackColumn(frames[place]!)])) };
    return true;
  }

  /** What is shown of each node of the page at `time`. */
  valuesAt(show: string, time: number): NodeValues {
    return { values: this.nodeColumn(show, time), pods: this.nodeColumn("pods", time) };
  }

  /** The states that need a person's look, by their borders. */
  bordersAt(time: number): Border[][] {
    const [states, frame] = [this.nodeColumn(STATE, time), lastIndexUntil(this.times, time)];
    return Array.from(this.ownIndices, (place, node): Border[] => {
      const state = states[node]!;
      if (Number.isNaN(state)) return place >= 0 && this.firstFrameByNode[place]! <= frame ? ["gone"] : [];
      if (state === FULL) return ["full"];
      return state === CORDONED ? ["cordoned"] : state === NOT_READY ? ["not-ready"] : [];
    });
  }

  private nodeColumn(show: string, time: number): Float64Array {
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

  /** The least and the largest value of all times; nothing known gives no range. */
  extent(show: Colouring): [number, number] {
    const numbers = this.loadedColumns.get(show.name);
    let [least, most] = [Infinity, -Infinity];
    for (const value of numbers?.data ?? []) {
      if (value === numbers!.absent) continue;
      if (value < least) least = value;
      if (value > most) most = value;
    }
    return [least, most];
  }

  /** Its own form of a colouring, whose sentence may differ from that of the other map. */
  findColouring(show: Colouring): Colouring {
    return this.shows.find((own) => own.name === show.name) ?? show;
  }

  /** The words of what is shown by code, where it is not a number. */
  categories(show: Colouring): string[] {
    return show.words ?? this.states;
  }

  /** Draws the cells, and returns the borders that it gave. */
  drawMap(grid: Grid, shown: Shown): Set<Border> {
    const { show, range, time, matchingNodes, changedNodes } = shown;
    const values = this.nodeColumn(show.name, time);
    const borders = this.bordersAt(time);
    const present = new Set<Border>();
    this.drawing.drawCells(grid, (node): Cell => {
      const value = values[node]!;
      const isKnown = !Number.isNaN(value);
      const isDimmed = matchingNodes !== undefined && !matchingNodes[node];
      const fill = isDimmed
        ? "dimmed"
        : !isKnown
          ? ""
          : show.unit
            ? stepClass(value, range)
            : categoryClass(show, value);
      const cellBorders: Border[] = changedNodes?.[node] ? [...borders[node]!, "changed"] : borders[node]!;
      for (const border of cellBorders) present.add(border);
      return {
        fill,
        name: this.shownNames[node] ?? "",
        detail: isKnown && grid.lines ? this.describeValue(show, value) : "",
        borders: cellBorders,
      };
    });
    return present;
  }

  /** What a cell says below its name. */
  private describeValue(show: Colouring, value: number): string {
    if (show.unit === "%") return `${formatNumber(value)} %`;
    return show.unit ? formatNumber(value) : (this.categories(show)[value] ?? "");
  }
}

/** The frame in which each node is there for the first time, the number of frames for never. */
export function firstFrames(states: ArrayLike<number>, absent: number, nodes: number): Int32Array {
  const frames = nodes ? states.length / nodes : 0;
  const firstFrame = new Int32Array(nodes).fill(frames);
  for (let frame = frames - 1; frame >= 0; frame -= 1)
    for (let node = 0; node < nodes; node += 1) if (states[frame * nodes + node] !== absent) firstFrame[node] = frame;
  return firstFrame;
}
