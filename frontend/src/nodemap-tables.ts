// The tables beneath a node map: its groups and its nodes at the time that the map shows.
import { element, formatNumber } from "./columns";
import type { Group } from "./nodemap-layout";
import { type Colouring, capitalised, groupHead, groupingWord, groupRow, type NodeValues } from "./nodemap-words";
import { t } from "./words";

const MOST_ROWS = 500;

export type TableContent = {
  show: Colouring;
  states: string[];
  nodeValues: NodeValues;
  groups: Group[];
  group: string;
  groupBy: string;
  names: string[];
};

export class NodeTables {
  private content: TableContent | undefined;

  constructor(private readonly root: HTMLElement) {
    // A table that is closed is filled when it is opened.
    for (const details of root.querySelectorAll("details")) {
      details.addEventListener("toggle", () => details.open && this.content && this.fill(this.content));
    }
  }

  fill(content: TableContent): void {
    this.content = content;
    this.title(
      "groups",
      t("%(chosen)s as a table", {
        chosen: capitalised(content.groupBy ? groupingWord(content.groupBy) : t("all nodes")),
      }),
    );
    this.title(
      "nodes",
      content.group ? t("Nodes of %(group)s as a table", { group: content.group }) : t("Nodes as a table"),
    );
    this.table("groups", groupHead(content.show, content.states, content.groupBy), () => this.groups(content));
    this.table("nodes", this.head(content), () => this.nodes(content));
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

  private groups({ show, states, nodeValues, groups }: TableContent): HTMLTableRowElement[] {
    return groups
      .filter((group) => group.nodes.some((node) => !Number.isNaN(nodeValues.values[node])))
      .map((group) => row(link(group.label, "toGroup", group.label), groupRow(show, states, nodeValues, group.nodes)));
  }

  private head({ show, groupBy }: TableContent): string[] {
    const label = capitalised(show.label);
    const title = show.unit === "%" ? `${label} (%)` : show.unit || show.words ? label : t("State");
    const middle = show.unit === "pods" ? [] : [title];
    return [t("Node"), groupBy ? capitalised(groupingWord(groupBy)) : t("Group"), ...middle, t("Pods")];
  }

  private nodes({ show, states, nodeValues, groups, group, names }: TableContent): HTMLTableRowElement[] {
    const nodeLabels = groups
      .filter((candidate) => !group || candidate.label === group)
      .flatMap((candidate) => candidate.nodes.map((node) => ({ node, label: candidate.label })))
      .filter(({ node }) => !Number.isNaN(nodeValues.values[node]))
      .sort(
        (first, second) =>
          (nodeValues.values[second.node] ?? 0) - (nodeValues.values[first.node] ?? 0) || first.node - second.node,
      );
    return nodeLabels.slice(0, MOST_ROWS).map(({ node, label }) => {
      const value = nodeValues.values[node] ?? 0;
      const middle = show.unit === "pods" ? [] : [show.unit ? formatNumber(value) : (states[value] ?? "")];
      const pods = nodeValues.pods[node] ?? NaN;
      return row(link(names[node]!, "toNode", names[node]!), [
        label,
        ...middle,
        Number.isNaN(pods) ? "–" : formatNumber(pods),
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
