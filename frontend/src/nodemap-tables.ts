// The tables beneath a node map: its groups and its nodes at the time that the map shows.
import { createElement, formatNumber } from "./columns";
import type { Table } from "./figure-export";
import type { Group } from "./nodemap-layout";
import { type Colouring, capitalise, groupHead, groupingWord, groupRow, type NodeValues } from "./nodemap-words";
import { translate } from "./words";

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
    this.writeTitle(
      "groups",
      translate("%(chosen)s as a table", {
        chosen: capitalise(content.groupBy ? groupingWord(content.groupBy) : translate("all nodes")),
      }),
    );
    this.writeTitle(
      "nodes",
      content.group
        ? translate("Nodes of %(group)s as a table", { group: content.group })
        : translate("Nodes as a table"),
    );
    this.fillTable("groups", groupHead(content.show, content.states, content.groupBy), () => this.groupRows(content));
    this.fillTable("nodes", this.nodeHead(content), () => this.nodeRows(content));
  }

  private writeTitle(name: string, text: string): void {
    const summary = this.root.querySelector(`[data-title="${name}"]`);
    if (summary) summary.textContent = text;
  }

  private fillTable(name: string, head: string[], rows: () => HTMLTableRowElement[]): void {
    const table = this.root.querySelector<HTMLTableElement>(`table[data-table="${name}"]`);
    if (!table?.closest("details")?.open) return;
    const titles = createElement("tr");
    for (const [place, title] of head.entries()) {
      const cell = createElement("th", place ? "number" : "", title);
      cell.scope = "col";
      titles.append(cell);
    }
    table.tHead!.replaceChildren(titles);
    table.tBodies[0]!.replaceChildren(...rows());
  }

  private groupRows({ show, states, nodeValues, groups }: TableContent): HTMLTableRowElement[] {
    return groups
      .filter((group) => group.nodes.some((node) => !Number.isNaN(nodeValues.values[node])))
      .map((group) =>
        renderRow(renderLink(group.label, "toGroup", group.label), groupRow(show, states, nodeValues, group.nodes)),
      );
  }

  private nodeHead({ show, groupBy }: TableContent): string[] {
    const label = capitalise(show.label);
    const title = show.unit === "%" ? `${label} (%)` : show.unit || show.words ? label : translate("State");
    const middle = show.name === "pods" ? [] : [title];
    return [
      translate("Node"),
      groupBy ? capitalise(groupingWord(groupBy)) : translate("Group"),
      ...middle,
      translate("Pods"),
    ];
  }

  /** All its nodes, the largest first, with the head. */
  allNodes(): Table {
    return this.content ? [this.nodeHead(this.content), ...this.nodeCells(this.content)] : [];
  }

  private nodeRows(content: TableContent): HTMLTableRowElement[] {
    return this.nodeCells(content)
      .slice(0, MOST_ROWS)
      .map(([name, ...cells]) =>
        renderRow(
          renderLink(name as string, "toNode", name as string),
          cells.map((cell) => (typeof cell === "number" ? formatNumber(cell) : (cell ?? "–"))),
        ),
      );
  }

  private nodeCells({ show, states, nodeValues, groups, group, names }: TableContent): Table {
    return groups
      .filter((candidate) => !group || candidate.label === group)
      .flatMap((candidate) => candidate.nodes.map((node) => ({ node, label: candidate.label })))
      .filter(({ node }) => !Number.isNaN(nodeValues.values[node]))
      .sort(
        (first, second) =>
          (nodeValues.values[second.node] ?? 0) - (nodeValues.values[first.node] ?? 0) || first.node - second.node,
      )
      .map(({ node, label }) => {
        const value = nodeValues.values[node] ?? 0;
        const middle = show.name === "pods" ? [] : [show.unit ? value : (states[value] ?? "")];
        const pods = nodeValues.pods[node] ?? NaN;
        return [names[node]!, label, ...middle, Number.isNaN(pods) ? null : pods];
      });
  }
}

function renderLink(text: string, kind: "toGroup" | "toNode", value: string): HTMLAnchorElement {
  const anchor = createElement("a", "", text);
  const address = new URL(location.href);
  address.searchParams.set(kind === "toGroup" ? "group" : "focus", value);
  anchor.href = `${address.pathname}${address.search}`;
  anchor.dataset[kind] = value;
  return anchor;
}

function renderRow(first: HTMLElement, cells: string[]): HTMLTableRowElement {
  const line = createElement("tr");
  const head = createElement("th");
  head.scope = "row";
  head.append(first);
  line.append(head, ...cells.map((text) => createElement("td", "number", text)));
  return line;
}
