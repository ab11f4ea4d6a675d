// Node maps: groups, nodes, and the pods of a node; search, keyboard, and maps side by side that are looked at alike.
import { createElement, formatNumber, updateAddress } from "./columns";
import { addFigureMenu, standAlone } from "./figure-export";
import type { Border } from "./nodemap-draw";
import { byName, groupsOf } from "./nodemap-groups";
import {
  ARROWS,
  arrangeCells,
  type Grid,
  type Group,
  labelAt,
  neighbourCell,
  placeAt,
  shortNames,
} from "./nodemap-layout";
import { PodPanel } from "./nodemap-pods";
import { borderLabels, renderLegend, valueRange } from "./nodemap-scale";
import { MapSide } from "./nodemap-side";
import { NodeTables } from "./nodemap-tables";
import { type Colouring, describeNode, describeNodes, groupingWord } from "./nodemap-words";
import { translate } from "./words";

const HIGHEST = 560; // pixels of a map; where it is narrow, more
const HIGHEST_NARROW = 900;

class NodeMap {
  private readonly sides: MapSide[];
  private readonly podPanels: PodPanel[];
  private readonly tables: NodeTables[];
  private names: string[] = [];
  private shownNames: string[] = []; // as short as they can be told apart
  private order: number[] = []; // nodes by name, 2 before 10
  private groups: Group[] = [];
  private groupedShifts = ""; // what shiftedAt said when the groups were made
  private grid: Grid | undefined;
  private matchingNodes: Uint8Array | undefined;
  private cursor = -1; // a node
  private time: number;
  private readonly timed: boolean;
  private groupBy: string;
  private colouringName: string;
  private chosenGroup: string;
  /** What the page was asked for: the server's sentences are of that. */
  private readonly firstView: string;
  private openedNode: string;
  private searchText: string;

  constructor(private readonly root: HTMLElement) {
    const data = root.dataset;
    this.sides = [...root.querySelectorAll<HTMLElement>("[data-columns]")].map((element) => new MapSide(element));
    this.timed = data.at !== undefined;
    this.time = Number(data.at ?? 0);
    this.groupBy = data.by ?? "";
    this.colouringName = data.show ?? "cpu";
    this.chosenGroup = data.group ?? "";
    this.firstView = `${this.colouringName} ${this.time}`;
    this.openedNode = data.focus ?? "";
    this.searchText = data.find ?? "";
    this.podPanels = this.sides.map(({ root: side }) => {
      const panel = createElement("div");
      root.querySelector("[data-node-panel]")?.append(panel);
      return new PodPanel(panel, side.dataset.pods ?? "", side.dataset.decisions ?? "", this.timed);
    });
    this.tables = this.sides.map((side) => new NodeTables(side.root));
    document.addEventListener("timechange", (event) => {
      const { time, settled } = (event as CustomEvent<{ time: number; settled: boolean }>).detail;
      this.showTime(time, settled);
    });
    void this.start();
  }

  private async start(): Promise<void> {
    try {
      // What is shown at first is asked for at once, not after the names.
      await Promise.all(this.sides.flatMap((side) => [side.loadColumns(), side.fetchFrames(this.colouringName)]));
      this.shareNodes();
      await this.loadFrames();
    } catch (error) {
      this.showError(error);
      return;
    }
    this.bindControls();
    this.regroup();
    this.root.dataset.drawn = "yes";
    this.addMenus();
    if (this.openedNode) void this.openNode(this.names.indexOf(this.openedNode));
  }

  private addMenus(): void {
    for (const [index, side] of this.sides.entries()) {
      addFigureMenu(side.root, this.root.id, {
        svg: () => standAlone(side.drawing.svg),
        table: () => this.tables[index]!.allNodes(),
      });
    }
  }

  private showError(error: unknown): void {
    for (const side of this.sides) side.holder.hidden = true;
    this.writeOutput("[data-readout]", error instanceof Error ? error.message : String(error));
  }

  private writeOutput(selector: string, text: string): void {
    const output = this.root.querySelector<HTMLElement>(selector);
    if (output) output.textContent = text;
  }

  /** Gives all maps the same nodes, so that one node has the same place in each. */
  private shareNodes(): void {
    const index = new Map<string, number>();
    for (const side of this.sides) for (const name of side.names) if (!index.has(name)) index.set(name, index.size);
    this.names = [...index.keys()];
    this.shownNames = shortNames(this.names);
    this.order = [...this.names.keys()].sort((first, second) => byName(this.names[first]!, this.names[second]!));
    for (const side of this.sides) side.indexNodes(index);
  }

  private get colouring(): Colouring {
    const shows = this.sides[0]!.shows;
    return shows.find((show) => show.name === this.colouringName) ?? shows[0]!;
  }

  private async loadFrames(): Promise<void> {
    this.colouringName = this.colouring.name;
    await Promise.all(this.sides.map((side) => side.loadFrames(this.colouringName)));
  }

  // What the person chooses.

  private bindControls(): void {
    const { root } = this;
    const select = (name: string) => root.querySelector<HTMLSelectElement>(`select[name="${name}"]`);
    const groupBySelect = select("by");
    const labels = [...new Set(this.sides.flatMap((side) => side.groupings.map((grouping) => grouping.label)))];
    if (groupBySelect) {
      groupBySelect.replaceChildren(
        ...labels.map((label) => new Option(groupingWord(label), label, false, label === this.groupBy)),
      );
      if (!labels.includes(this.groupBy)) this.groupBy = labels[0] ?? "";
      groupBySelect.closest<HTMLElement>(".field")!.hidden = !labels.length;
      groupBySelect.addEventListener("change", () => this.regroup({ groupBy: groupBySelect.value }));
    }
    const show = select("show");
    show?.addEventListener("change", () => void this.changeColouring(show.value));
    root.querySelector("form")?.addEventListener("submit", (event) => {
      event.preventDefault();
      this.openNextMatch();
    });
    const find = root.querySelector<HTMLInputElement>('input[name="find"]');
    find?.addEventListener("input", () => this.search(find.value));
    root.querySelector("[data-zoom-out]")?.addEventListener("click", () => this.zoomOut());
    root.addEventListener("click", (event) => this.followLink(event));
    for (const side of this.sides) this.bindPointer(side);
    let width = this.width;
    new ResizeObserver(() => {
      if (Math.abs(this.width - width) < 2) return;
      width = this.width;
      this.arrangeCells();
    }).observe(this.sides[0]!.holder);
  }

  /** A link of a table to a group or a node stays on the page. */
  private followLink(event: MouseEvent): void {
    const link = (event.target as HTMLElement).closest<HTMLAnchorElement>("a[data-to-group], a[data-to-node]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.dataset.toGroup !== undefined) this.regroup({ group: link.dataset.toGroup });
    else void this.openNode(this.names.indexOf(link.dataset.toNode ?? ""));
  }

  private async changeColouring(key: string): Promise<void> {
    this.colouringName = key;
    updateAddress({ show: key });
    try {
      await this.loadFrames();
    } catch (error) {
      this.showError(error);
      return;
    }
    this.draw();
    // Other figures of the page show the same resource; they follow on the server.
    document.dispatchEvent(new CustomEvent("showchange", { detail: { show: key } }));
  }

  private get width(): number {
    return this.sides[0]!.holder.clientWidth;
  }

  private regroup(change: { groupBy?: string; group?: string } = {}): void {
    if (change.groupBy !== undefined) [this.groupBy, this.chosenGroup] = [change.groupBy, ""];
    if (change.group !== undefined) this.chosenGroup = change.group;
    this.sortIntoGroups();
    if (!this.groups.some(({ label }) => label === this.chosenGroup)) this.chosenGroup = "";
    updateAddress({ ...(change.groupBy === undefined ? {} : { by: this.groupBy }), group: this.chosenGroup });
    const zoomOutButton = this.root.querySelector<HTMLElement>("[data-zoom-out]");
    if (zoomOutButton) zoomOutButton.hidden = !this.chosenGroup;
    this.arrangeCells();
  }

  /** Puts the nodes into the groups in which they are now. */
  private sortIntoGroups(): void {
    this.groupedShifts = this.countShifts(this.time);
    const maps = this.sides.map((side) => side.groupsAt(this.groupBy, this.time));
    this.groups = groupsOf(maps, this.groupBy, this.order);
  }

  /** How often nodes have come into another group by `time`, a number a map. */
  private countShifts(time: number): string {
    return this.sides.map((side) => side.shiftCount(this.groupBy, time)).join();
  }

  private get visibleGroups(): Group[] {
    return this.chosenGroup ? this.groups.filter((group) => group.label === this.chosenGroup) : this.groups;
  }

  private arrangeCells(): void {
    const start = performance.now();
    const maxHeight = this.width < 500 ? HIGHEST_NARROW : HIGHEST;
    this.grid = arrangeCells(this.visibleGroups, this.shownNames, this.width, maxHeight);
    if (this.searchText) this.matchNodes();
    this.draw();
    performance.measure("nodemap", { start, end: performance.now() });
  }

  // Drawing.

  private showTime(time: number, isSettled: boolean): void {
    this.time = time;
    if (!this.grid) return;
    if (this.countShifts(time) === this.groupedShifts) this.draw(isSettled);
    else {
      // A group that has no node for a while stays chosen.
      this.sortIntoGroups();
      this.arrangeCells();
    }
    if (!isSettled) return;
    void Promise.all(this.sides.map((side) => side.loadExact(this.colouringName, time))).then((updates) => {
      if (updates.some(Boolean) && this.time === time) this.draw();
    });
  }

  private draw(isSettled = true): void {
    const { grid, colouring: show } = this;
    if (!grid) return;
    const extents = this.sides.map((side) => side.extent(show));
    const range = valueRange(
      show,
      Math.min(...extents.map(([least]) => least)),
      Math.max(...extents.map(([, most]) => most)),
    );
    const changedNodes = this.changedNodes();
    const borders = new Set<Border>();
    const places = this.chosenGroup ? this.visibleGroups.flatMap((group) => group.nodes) : undefined;
    for (const [index, side] of this.sides.entries()) {
      const nodeValues = side.valuesAt(show.name, this.time);
      const shown = { show, range, time: this.time, matchingNodes: this.matchingNodes, changedNodes };
      for (const border of side.drawMap(grid, shown)) borders.add(border);
      const caption = side.root.querySelector<HTMLElement>("[data-summary]");
      const groupPrefix = this.chosenGroup ? `${this.chosenGroup}: ` : "";
      if (caption) {
        const isFirstView = !this.chosenGroup && `${this.colouringName} ${this.time}` === this.firstView;
        const describe = () =>
          groupPrefix +
          describeNodes(
            side.findColouring(show),
            side.categories(show),
            nodeValues,
            this.timed ? this.time : undefined,
            places,
          );
        caption.textContent = (isFirstView && side.serverSummary) || describe();
        side.holder.setAttribute(
          "aria-label",
          translate("Node map. %(summary)s", { summary: caption.textContent ?? "" }),
        );
      }
      if (isSettled)
        this.tables[index]!.fill({
          show,
          states: side.categories(show),
          nodeValues,
          groups: this.groups,
          group: this.chosenGroup,
          groupBy: this.groupBy,
          names: this.names,
        });
      this.podPanels[index]!.showPods(
        show.unit === "%" ? show.name.replace(/^use-/, "") : "cpu",
        this.time,
        this.sidePrefix(side),
      );
    }
    this.root
      .querySelector("[data-legend]")
      ?.replaceChildren(...renderLegend(show, range, this.sides[0]!.categories(show), borders));
    this.placeFrames();
  }

  /** Where maps stand before and after a change: the nodes of which they do not show the same. */
  private changedNodes(): Uint8Array | undefined {
    if (this.root.dataset.changes === undefined) return undefined;
    const [before, after] = this.sides.map((side) => side.valuesAt(this.colouringName, this.time).values);
    const isSame = (node: number) => Object.is(before?.[node], after?.[node]);
    return Uint8Array.from(this.names, (_, node) => Number(!isSame(node)));
  }

  private sidePrefix(side: MapSide): string {
    return this.sides.length > 1 ? `${side.root.dataset.label}: ` : "";
  }

  // Search.

  private matchNodes(): void {
    const words = this.searchText.toLowerCase();
    this.matchingNodes = words
      ? Uint8Array.from(this.names, (name) => Number(name.toLowerCase().includes(words)))
      : undefined;
    const count = this.matchingNodes ? this.matchingNodes.reduce((sum, flag) => sum + flag, 0) : 0;
    this.writeOutput(
      "[data-found]",
      this.matchingNodes ? `${formatNumber(count)} of ${formatNumber(this.names.length)} nodes` : "",
    );
  }

  private search(words: string): void {
    this.searchText = words.trim();
    updateAddress({ find: this.searchText });
    this.matchNodes();
    this.draw(false);
  }

  /** The next node that is found, in the order of the map. */
  private openNextMatch(): void {
    const { grid, matchingNodes } = this;
    if (!grid || !matchingNodes) return;
    const matches = [...grid.cells].filter((node) => node >= 0 && matchingNodes[node]);
    if (!matches.length) return;
    const node = matches[(matches.indexOf(this.cursor) + 1) % matches.length]!;
    this.moveCursor(node, this.sides[0]!, true);
    void this.openNode(node);
  }

  // Pointer and keyboard.

  private bindPointer(side: MapSide): void {
    const { holder } = side;
    const under = (event: MouseEvent) => {
      const { box } = side.drawing;
      return placeAt(this.grid!, event.clientX - box.left, event.clientY - box.top);
    };
    holder.addEventListener("pointermove", (event) => this.moveCursor(under(event).node, side, false));
    holder.addEventListener("click", (event) => {
      const place = under(event);
      if (place.node >= 0) void this.openNode(place.node);
      else if (!this.chosenGroup && this.groups.length > 1) {
        const label = labelAt(this.grid!, place);
        if (label !== undefined) this.regroup({ group: label });
      }
    });
    holder.addEventListener("focus", () => {
      const first = this.grid?.cells.find((node) => node >= 0) ?? -1;
      this.moveCursor(this.grid?.placeOf.has(this.cursor) ? this.cursor : first, side, true);
    });
    holder.addEventListener("keydown", (event) => this.handleKey(event, side));
  }

  private handleKey(event: KeyboardEvent, side: MapSide): void {
    const { grid } = this;
    if (!grid || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = ARROWS[event.key];
    const cell = grid.placeOf.get(this.cursor);
    if (step && cell !== undefined) this.moveCursor(grid.cells[neighbourCell(grid, cell, ...step)]!, side, true);
    else if (event.key === "Enter") void this.openNode(this.cursor);
    else if (event.key === " ") this.regroup({ group: this.chosenGroup ? "" : this.groupOf(this.cursor) });
    else if (event.key === "Home" || event.key === "End") {
      const nodes = [...grid.cells].filter((node) => node >= 0);
      this.moveCursor((event.key === "Home" ? nodes[0] : nodes.at(-1)) ?? -1, side, true);
    } else if (event.key === "Escape" && (this.chosenGroup || this.openedNode)) this.zoomOut();
    else return;
    event.preventDefault();
  }

  private groupOf(node: number): string {
    return this.groups.length > 1 ? (this.groups.find((group) => group.nodes.includes(node))?.label ?? "") : "";
  }

  /** Puts the cursor on a node; `isSpoken` says it to a screen reader too. */
  private moveCursor(node: number, side: MapSide, isSpoken: boolean): void {
    if (node === this.cursor && !isSpoken) return;
    this.cursor = node;
    this.placeFrames();
    if (node < 0) return;
    const group = this.groupOf(node);
    const descriptions = this.sides.map((side) => {
      const { values, pods } = side.valuesAt(this.colouringName, this.time);
      const count =
        this.colouring.unit === "pods" || Number.isNaN(pods[node])
          ? ""
          : `, ${translate("%(number)s pods", { number: formatNumber(pods[node]!) })}`;
      const signs =
        this.colouring.name === "state"
          ? []
          : side.bordersAt(this.time)[node]!.map((border) => `, ${borderLabels()[border]}`);
      const said = describeNode(this.colouring, side.categories(this.colouring), values[node]!);
      return `${this.sidePrefix(side)}${said}${count}${signs.join("")}`;
    });
    const text = `${this.names[node]}${group ? `, ${this.groupBy} ${group}` : ""}: ${descriptions.join("; ")}`;
    this.writeOutput("[data-readout]", text);
    if (isSpoken) this.writeOutput("[data-spoken]", text);
    if (side.holder.title) side.holder.removeAttribute("title");
  }

  /** Frames around the node under the cursor and around the one whose pods are shown. */
  private placeFrames(): void {
    const { grid } = this;
    for (const side of this.sides) {
      for (const [name, node] of [
        ["cursor", this.cursor],
        ["chosen", this.names.indexOf(this.openedNode)],
      ] as const) {
        const frame = side.holder.querySelector<HTMLElement>(`[data-frame="${name}"]`);
        const cell = grid?.placeOf.get(node);
        if (!frame) continue;
        frame.hidden = cell === undefined;
        if (cell === undefined || !grid) continue;
        frame.style.width = `${Math.max(grid.cellWidth, 8)}px`;
        frame.style.height = `${Math.max(grid.cellHeight, 8)}px`;
        frame.style.transform = `translate(${(cell % grid.columns) * grid.cellWidth}px, ${Math.floor(cell / grid.columns) * grid.cellHeight}px)`;
      }
    }
  }

  // The pods of a node.

  private async openNode(node: number): Promise<void> {
    const name = this.names[node];
    if (!name) return;
    const { pods, nodes, nodesSuffix } = this.sides[0]!.root.dataset;
    if (!pods) {
      // A map that stands beside other things has no room for pods: the node has a page of its own.
      if (nodes) location.assign(`${nodes}${encodeURIComponent(name)}${nodesSuffix ?? ""}`);
      return;
    }
    this.openedNode = name;
    updateAddress({ focus: name });
    const panel = this.root.querySelector<HTMLElement>("[data-node-panel]");
    if (panel) panel.hidden = false;
    this.placeFrames();
    await Promise.all(
      this.podPanels.map((pods) => pods.loadPods(name).catch((error: unknown) => pods.showError(error))),
    );
    this.draw(false);
  }

  /** One level up: from a node's pods to the nodes, from a group to all. */
  private zoomOut(): void {
    if (this.openedNode) {
      this.openedNode = "";
      updateAddress({ focus: "" });
      for (const pods of this.podPanels) pods.close();
      const panel = this.root.querySelector<HTMLElement>("[data-node-panel]");
      if (panel) panel.hidden = true;
    }
    if (this.chosenGroup) this.regroup({ group: "" });
    else this.placeFrames();
  }
}

const started = new WeakSet<HTMLElement>();

function startNodeMaps(): void {
  for (const root of document.querySelectorAll<HTMLElement>("[data-nodemap]")) {
    if (!started.has(root)) new NodeMap(root);
    started.add(root);
  }
}

startNodeMaps();
// A part of a page that comes later may bring a map.
document.addEventListener("htmx:afterSettle", startNodeMaps);
