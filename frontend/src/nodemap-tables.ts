// The tables beneath a node map: its groups and its nodes at the time that the map shows.
import { element, grouped } from "./columns";
import type { Group } from "./nodemap-layout";
import { capitalised, groupHead, grouping, groupRow, type Show, type Values } from "./nodemap-words";
import { t } from "./words";

const MOST_ROWS = 500;

export type Shown = {
  show: Show;
  states: string[];
  found: Values;
  groups: Group[];
  group: string;
  by: string;
  names: string[];
};

export class NodeTables {
  private waiting: Shown | undefined;

  constructor(private readonly root: HTMLElement) {
    // A table that is closed is filled when it is opened.
    for (const details of root.querySelectorAll("details")) {
      details.addEventListener("toggle", () => details.open && this.waiting && this.fill(this.waiting));
    }
  }

  fill(shown: Shown): void {
    this.waiting = shown;
    this.title(
      "groups",
      t("%(chosen)s as a table", { chosen: capitalised(shown.by ? grouping(shown.by) : t("all nodes")) }),
    );
    this.title(
      "nodes",
      shown.group ? t("Nodes of %(group)s as a table", { group: shown.group }) : t("Nodes as a table"),
    );
    this.table("groups", groupHead(shown.show, shown.states, shown.by), () => this.groups(shown));
    this.table("nodes", this.head(shown), () => this.nodes(shown));
  }

  private title(name: string, text: string): void {
    const summary = this.root.querySelector(`[data-title="${name}"]`);
    if (summary) summary.textContent = text;
  }

  private table(name: string, head: string[], rows: () => HTMLTableRowElement[]): void {
    const table = this.root.querySelector<HTMLTableElement>(`table[data-table="${name}"]`);
    if (!table?.closest("details")?.open) return;
    const titles = element("tr");
    for (const [place, title] of head.entries()) {
      const cell = element("th", place ? "number" : "", title);
      cell.scope = "col";
      titles.append(cell);
    }
    table.tHead!.replaceChildren(titles);
    table.tBodies[0]!.replaceChildren(...rows());
  }

  private groups({ show, states, found, groups }: Shown): HTMLTableRowElement[] {
    return groups
      .filter((group) => group.nodes.some((node) => !Number.isNaN(found.values[node])))
      .map((group) => row(link(group.label, "toGroup", group.label), groupRow(show, states, found, group.nodes)));
  }

  private head({ show, by }: Shown): string[] {
    const middle = show.unit === "pods" ? [] : [show.unit ? `${capitalised(show.label)} (%)` : t("State")];
    return [t("Node"), by ? capitalised(grouping(by)) : t("Group"), ...middle, t("Pods")];
  }

  private nodes({ show, states, found, groups, group, names }: Shown): HTMLTableRowElement[] {
    const listed = groups
      .filter((candidate) => !group || candidate.label === group)
      .flatMap((candidate) => candidate.nodes.map((node) => ({ node, label: candidate.label })))
      .filter(({ node }) => !Number.isNaN(found.values[node]))
      .sort(
        (first, second) =>
          (found.values[second.node] ?? 0) - (found.values[first.node] ?? 0) || first.node - second.node,
      );
    return listed.slice(0, MOST_ROWS).map(({ node, label }) => {
      const value = found.values[node] ?? 0;
      const middle = show.unit === "pods" ? [] : [show.unit ? grouped(value) : (states[value] ?? "")];
      const pods = found.pods[node] ?? NaN;
      return row(link(names[node]!, "toNode", names[node]!), [
        label,
        ...middle,
        Number.isNaN(pods) ? "–" : grouped(pods),
      ]);
    });
  }
}

function link(text: string, kind: "toGroup" | "toNode", value: string): HTMLAnchorElement {
  const anchor = element("a", "", text);
  const address = new URL(location.href);
  address.searchParams.set(kind === "toGroup" ? "group" : "focus", value);
  anchor.href = `${address.pathname}${address.search}`;
  anchor.dataset[kind] = value;
  return anchor;
}

function row(first: HTMLElement, cells: string[]): HTMLTableRowElement {
  const line = element("tr");
  const head = element("th");
  head.scope = "row";
  head.append(first);
  line.append(head, ...cells.map((text) => element("td", "number", text)));
  return line;
}
