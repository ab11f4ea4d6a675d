// The pods of one node: what each asks for of it, at the time of the scrubber. Fetched once a node.
import { createElement, lastIndexUntil } from "./columns";
import { formatDuration } from "./duration-words";
import { resourceWord } from "./nodemap-words";
import { translate, translateCount } from "./words";

const SVG = "http://www.w3.org/2000/svg";

type PodStays = {
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

export class PodPanel {
  private readonly staysByNode = new Map<string, Promise<PodStays>>();
  private stays: PodStays | undefined;
  private shownKey = "";

  constructor(
    private readonly panel: HTMLElement,
    private readonly staysAddress: string,
    private readonly decisionsAddress: string,
    private readonly hasTime: boolean,
  ) {}

  async loadPods(node: string): Promise<void> {
    if (!this.staysByNode.has(node)) {
      const address = new URL(this.staysAddress, location.href); // it may name a moment
      address.searchParams.set("node", node);
      this.staysByNode.set(
        node,
        fetch(address, { headers: { Accept: "application/json" } }).then(async (answer) => {
          const body = (await answer.json()) as PodStays & { detail?: string };
          if (!answer.ok)
            throw new Error(body.detail ?? translate("The server answered %(status)s.", { status: answer.status }));
          return body;
        }),
      );
    }
    this.stays = undefined;
    this.shownKey = "";
    this.stays = await this.staysByNode.get(node)!;
  }

  close(): void {
    this.stays = undefined;
    this.shownKey = "";
    this.replaceContent();
  }

  private replaceContent(...content: HTMLElement[]): void {
    this.panel.replaceChildren(...content);
  }

  showError(error: unknown): void {
    this.replaceContent(createElement("p", "soft", error instanceof Error ? error.message : String(error)));
  }

  /** Shows the pods that are there at `time`, largest first; nothing happens where they are those that stand there. */
  showPods(resource: string, time: number, title: string): void {
    const stays = this.stays;
    if (!stays) return;
    const requests = stays.requests[resource] ?? stays.requests.cpu ?? [];
    const key = stays.requests[resource] ? resource : "cpu";
    const allocatable = stays.allocatable[key]?.[lastIndexUntil(stays.changes, time)] ?? null;
    const presentPods = stays.pods
      .map((_, place) => place)
      .filter((place) => stays.from[place]! <= time + 1e-6 && (stays.until[place] ?? Infinity) > time + 1e-6)
      .sort((first, second) => (requests[second] ?? 0) - (requests[first] ?? 0));
    const shownKey = [stays.node, key, allocatable, ...presentPods].join(" ");
    if (shownKey === this.shownKey) return;
    this.shownKey = shownKey;
    const shares = presentPods.map((place) => (allocatable ? (100 * (requests[place] ?? 0)) / allocatable : 0));
    const sum = shares.reduce((total, share) => total + share, 0);
    const resourceName = resourceWord(key);
    const heading = createElement("h3", "", `${title}${stays.node}`);
    const caption = createElement(
      "figcaption",
      "",
      this.describePods(stays.omitted, allocatable === null, presentPods.length, sum, resourceName, time),
    );
    const figure = createElement("figure", "nodemap-pods");
    figure.append(caption, this.renderTable(stays, presentPods, shares, resourceName));
    this.replaceContent(heading, figure);
  }

  private describePods(
    omitted: number,
    isGone: boolean,
    pods: number,
    sum: number,
    resourceName: string,
    time: number,
  ): string {
    const wordValues = {
      time: formatDuration(time),
      pods: pods || translate("no"),
      share: sum.toFixed(0),
      what: resourceName,
    };
    if (isGone)
      return this.hasTime ? translate("After %(time)s it is not there.", wordValues) : translate("It is not there.");
    const runs = this.hasTime
      ? translateCount(
          "After %(time)s it runs %(pods)s pod, which requests %(share)s % of its %(what)s.",
          "After %(time)s it runs %(pods)s pods, which request %(share)s % of its %(what)s.",
          pods,
          wordValues,
        )
      : translateCount(
          "It runs %(pods)s pod, which requests %(share)s % of its %(what)s.",
          "It runs %(pods)s pods, which request %(share)s % of its %(what)s.",
          pods,
          wordValues,
        );
    if (!omitted) return runs;
    return `${runs} ${translate("%(number)s earlier pods are left out.", { number: omitted })}`;
  }

  private renderTable(stays: PodStays, presentPods: number[], shares: number[], resourceName: string): HTMLElement {
    const box = createElement("div", "table-box tall");
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", translate("Pods of %(node)s", { node: stays.node }));
    const table = createElement("table", "table dense");
    const head = table.createTHead().insertRow();
    for (const [title, kind] of [
      [translate("Pod"), ""],
      [translate("%(what)s requested (%)", { what: resourceName }), "number"],
      ...(this.hasTime ? [[translate("Since"), "number"]] : []),
    ]) {
      const cell = createElement("th", kind, title);
      cell.scope = "col";
      head.append(cell);
    }
    const body = table.createTBody();
    for (const [index, place] of presentPods.entries()) {
      const row = body.insertRow();
      const name = createElement("th", "name");
      name.scope = "row";
      if (stays.tried[place]) {
        const link = createElement("a", "", stays.pods[place]);
        link.href = `${this.decisionsAddress}${stays.pods[place]!.split("/").map(encodeURIComponent).join("/")}/`;
        name.append(link);
      } else name.textContent = stays.pods[place]!;
      const share = createElement("td", "number", (shares[index] ?? 0).toFixed(1));
      share.append(makeBar((shares[index] ?? 0) / (shares[0] || 1)));
      row.append(name, share);
      if (this.hasTime) row.append(createElement("td", "number", formatDuration(stays.from[place] ?? 0)));
    }
    box.append(table);
    return box;
  }
}

/** A bar in a cell, as the filter `meter` of templates makes it; `share` is of the longest. */
function makeBar(share: number): SVGElement {
  const bar = document.createElementNS(SVG, "svg");
  bar.setAttribute("class", "meter");
  bar.setAttribute("aria-hidden", "true");
  const rect = document.createElementNS(SVG, "rect");
  rect.setAttribute("width", `${100 * share}%`);
  rect.setAttribute("height", "100%");
  bar.append(rect);
  return bar;
}
