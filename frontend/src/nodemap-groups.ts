// Which nodes are in which group of a label at a time: labels may change while time passes.
import { type Column, lastIndexUntil, type Numbers, unpackColumn } from "./columns";
import type { Group } from "./nodemap-layout";

export type GroupingColumns = {
  label: string;
  values: string[];
  codes: Column;
  shifts: { times: number[]; nodes: Column; codes: Column };
};

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** 2 before 10. */
export const byName = (first: string, second: string) => COLLATOR.compare(first, second);

/** The nodes of one map by one label. */
export class Grouping {
  readonly label: string;
  private readonly values: string[];
  private readonly codes: Numbers;
  private readonly times: number[];
  private readonly shifts: [Numbers, Numbers];

  constructor(columns: GroupingColumns) {
    this.label = columns.label;
    this.values = columns.values;
    this.codes = unpackColumn(columns.codes);
    this.times = columns.shifts.times;
    this.shifts = [unpackColumn(columns.shifts.nodes), unpackColumn(columns.shifts.codes)];
  }

  /** How often nodes have come into another group by `time`. */
  shiftCount(time: number): number {
    return this.times.length && this.times[0]! <= time + 1e-6 ? lastIndexUntil(this.times, time) + 1 : 0;
  }

  /** The group of each node at `time`, "" where it has none. */
  valuesAt(time: number): string[] {
    const currentCodes = this.codes.data.slice();
    const [nodes, codes] = this.shifts;
    for (let shift = 0; shift < this.shiftCount(time); shift += 1)
      currentCodes[nodes.data[shift]!] = codes.data[shift]!;
    return Array.from(currentCodes, (code) => this.values[code] ?? "");
  }
}

/** The nodes in `order` by what the first map says that knows a group of them. */
export function groupsOf(maps: string[][], groupBy: string, order: number[]): Group[] {
  const nodesByLabel = new Map<string, number[]>();
  for (const node of order) {
    const value = maps.map((map) => map[node]).find(Boolean) ?? "";
    const label = value || (groupBy ? `no ${groupBy}` : "all nodes");
    if (!nodesByLabel.has(label)) nodesByLabel.set(label, []);
    nodesByLabel.get(label)!.push(node);
  }
  return [...nodesByLabel]
    .map(([label, nodes]) => ({ label, nodes }))
    .sort((first, second) => byName(first.label, second.label));
}
