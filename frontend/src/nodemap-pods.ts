// The pods of one node: what each asks for of it, at the time of the scrubber. Fetched once a node.
import Plotly from "plotly.js-cartesian-dist-min";
import { element, last, token } from "./columns";
import { formatDuration } from "./durations";
import { resourceWord } from "./nodemap-words";
import { n, t } from "./words";

type Stays = {
  node: string;
  pods: string[];
  tried: boolean[];
  from: number[];
  until: (number | null)[];
  requests: Record<string, number[]>;
  changes: number[];
  allocatable: Record<string, (number | null)[]>;
  omitted: number;
};

const MOST_BARS = 30;

function clipped(name: string, most: number): string {
  return (name.length <= most ? name : `${name.slice(0, most - 1)}…`).replace(/[<>&]/g, "·");
}

export class Pods {
  private readonly known = new Map<string, Promise<Stays>>();
  private stays: Stays | undefined;
  private shown = "";

  constructor(
    private readonly panel: HTMLElement,
    private readonly address: string,
    private readonly decisions: string,
    private readonly timed: boolean,
  ) {}

  async open(node: string): Promise<void> {
    if (!this.known.has(node)) {
      const address = new URL(this.address, location.href); // it may name a moment
      address.searchParams.set("node", node);
      this.known.set(
        node,
        fetch(address, { headers: { Accept: "application/json" } }).then(async (answer) => {
          const body = (await answer.json()) as Stays & { detail?: string };
          if (!answer.ok)
            throw new Error(body.detail ?? t("The server answered %(status)s.", { status: answer.status }));
          return body;
        }),
      );
    }
    this.stays = undefined;
    this.shown = "";
    this.stays = await this.known.get(node)!;
  }

  close(): void {
    this.stays = undefined;
    this.shown = "";
    this.clear();
  }

  private clear(...instead: HTMLElement[]): void {
    for (const plot of this.panel.querySelectorAll<HTMLElement>(".nodemap-pods")) Plotly.purge(plot);
    this.panel.replaceChildren(...instead);
  }

  fail(error: unknown): void {
    this.clear(element("p", "soft", error instanceof Error ? error.message : String(error)));
  }

  /** Shows the pods that are there at `time`, largest first; nothing happens where they are those that stand there. */
  show(resource: string, time: number, title: string, anew = false): void {
    const stays = this.stays;
    if (!stays) return;
    const requests = stays.requests[resource] ?? stays.requests.cpu ?? [];
    const key = stays.requests[resource] ? resource : "cpu";
    const has = stays.allocatable[key]?.[last(stays.changes, time)] ?? null;
    const there = stays.pods
      .map((_, place) => place)
      .filter((place) => stays.from[place]! <= time + 1e-6 && (stays.until[place] ?? Infinity) > time + 1e-6)
      .sort((one, other) => (requests[other] ?? 0) - (requests[one] ?? 0));
    const shown = [stays.node, key, has, ...there].join(" ");
    if (shown === this.shown && !anew) return;
    this.shown = shown;
    const shares = there.map((place) => (has ? (100 * (requests[place] ?? 0)) / has : 0));
    const sum = shares.reduce((total, share) => total + share, 0);
    const what = resourceWord(key);
    const heading = element("h3", "", `${title}${stays.node}`);
    const caption = element("figcaption", "", this.said(stays.omitted, has === null, there.length, sum, what, time));
    const figure = element("figure");
    const plot = element("div", "nodemap-pods");
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", caption.textContent ?? "");
    figure.append(caption, plot, this.table(stays, there, shares, what));
    this.clear(heading, figure);
    if (there.length) this.draw(plot, stays, there, shares, what);
  }

  private said(omitted: number, gone: boolean, pods: number, sum: number, what: string, time: number): string {
    const told = { time: formatDuration(time), pods: pods || t("no"), share: sum.toFixed(0), what };
    if (gone) return this.timed ? t("After %(time)s it is not there.", told) : t("It is not there.");
    const runs = this.timed
      ? n(
          "After %(time)s it runs %(pods)s pod, which requests %(share)s % of its %(what)s.",
          "After %(time)s it runs %(pods)s pods, which request %(share)s % of its %(what)s.",
          pods,
          told,
        )
      : n(
          "It runs %(pods)s pod, which requests %(share)s % of its %(what)s.",
          "It runs %(pods)s pods, which request %(share)s % of its %(what)s.",
          pods,
          told,
        );
    if (!omitted) return runs;
    return `${runs} ${t("%(number)s earlier pods are left out.", { number: omitted })}`;
  }

  private table(stays: Stays, there: number[], shares: number[], what: string): HTMLElement {
    const box = element("div", "table-box tall");
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", t("Pods of %(node)s", { node: stays.node }));
    const table = element("table", "table dense");
    const head = table.createTHead().insertRow();
    for (const [title, kind] of [
      [t("Pod"), ""],
      [t("%(what)s requested (%)", { what }), "number"],
      ...(this.timed ? [[t("Since"), "number"]] : []),
    ]) {
      const cell = element("th", kind, title);
      cell.scope = "col";
      head.append(cell);
    }
    const body = table.createTBody();
    for (const [at, place] of there.entries()) {
      const row = body.insertRow();
      const name = element("th", "name");
      name.scope = "row";
      if (stays.tried[place]) {
        const link = element("a", "", stays.pods[place]);
        link.href = `${this.decisions}${stays.pods[place]!.split("/").map(encodeURIComponent).join("/")}/`;
        name.append(link);
      } else name.textContent = stays.pods[place]!;
      row.append(name, element("td", "number", (shares[at] ?? 0).toFixed(1)));
      if (this.timed) row.append(element("td", "number", formatDuration(stays.from[place] ?? 0)));
    }
    box.append(table);
    return box;
  }

  private draw(plot: HTMLElement, stays: Stays, there: number[], shares: number[], what: string): void {
    const bars = there.slice(0, MOST_BARS);
    const names = bars.map((place) =>
      clipped(stays.pods[place]!.replace(/^[^/]*\//, ""), plot.clientWidth < 500 ? 18 : 34),
    );
    const values = shares.slice(0, MOST_BARS);
    if (there.length > MOST_BARS) {
      names.push(t("%(number)s more", { number: there.length - MOST_BARS }));
      values.push(shares.slice(MOST_BARS).reduce((total, share) => total + share, 0));
    }
    const color = token("text");
    const line = token("line");
    const bar = {
      type: "bar",
      orientation: "h",
      x: values,
      y: names.map((_, place) => place),
      marker: { color: "#0072b2" },
      hoverinfo: "skip",
    };
    const layout = {
      height: 70 + 18 * names.length,
      width: plot.clientWidth,
      margin: { l: 8, r: 12, t: 4, b: 40 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 11, color },
      xaxis: {
        title: { text: t("%(what)s requested (% of the node)", { what }) },
        rangemode: "tozero",
        gridcolor: line,
        linecolor: line,
        zerolinecolor: line,
      },
      yaxis: {
        autorange: "reversed",
        automargin: true,
        tickvals: names.map((_, place) => place),
        ticktext: names,
        gridcolor: line,
      },
    };
    void Plotly.react(plot, [bar], layout, { staticPlot: true });
  }
}
