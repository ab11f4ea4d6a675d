// What a node map says at a time. web/nodemap/nodemap.py says the same of the time that the page was asked for.
import { grouped, span } from "./columns";

export type Show = { name: string; label: string; unit: string; verb: string; what: string };
export type Values = { values: ArrayLike<number>; pods: ArrayLike<number> }; // one a node, NaN where it is not there

const whole = (value: number) => Math.floor(value + 0.5);
const nodes = (count: number) => (count === 1 ? "1 node" : `${grouped(count)} nodes`);

export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** One sentence on the nodes `places` (all without it). `time` is undefined for a snapshot. */
export function summary(
  show: Show,
  states: string[],
  found: Values,
  time: number | undefined,
  places?: number[],
): string {
  const all = places ?? Array.from({ length: found.values.length }, (_, place) => place);
  const there = all.filter((place) => !Number.isNaN(found.values[place]));
  const said = sentence(show, states, found, there);
  return time === undefined ? capitalised(said) : `After ${span(time)} ${said}`;
}

function sentence(show: Show, states: string[], found: Values, there: number[]): string {
  const values = there.map((place) => found.values[place] ?? 0);
  const empty = there.filter((place) => found.pods[place] === 0).length;
  const count = nodes(there.length);
  const sum = values.reduce((total, value) => total + value, 0);
  const most = values.reduce((largest, value) => Math.max(largest, value), 0);
  if (!show.unit) {
    const parts = states.map((words, code) => `${grouped(values.filter((value) => value === code).length)} ${words}`);
    return `${count}: ${parts.join(", ")}.`;
  }
  if (show.unit === "pods") {
    return `${count} with ${grouped(sum)} pods, at most ${grouped(most)} on one, ${grouped(empty)} with none.`;
  }
  if (!there.length) return `no node has ${show.what}.`;
  const has = there.length === 1 ? "has" : "have";
  return (
    `${count} ${has} ${show.what}: ${whole(sum / there.length)} % is ${show.verb} on average, ` +
    `${whole(most)} % of the fullest; ${grouped(empty)} without a pod.`
  );
}

/** What is shown of one node: "63 % CPU requested", "12 pods", "cordoned". */
export function amount(show: Show, states: string[], value: number): string {
  if (Number.isNaN(value)) return show.unit ? `${show.label} unknown` : "not there";
  if (!show.unit) return states[value] ?? "";
  return show.unit === "pods" ? `${grouped(value)} pods` : `${grouped(value)} % ${show.label}`;
}

/** A row a group, as nodemap.Now.group_table makes them. */
export function groupRow(show: Show, states: string[], found: Values, places: number[]): string[] {
  const there = places.filter((place) => !Number.isNaN(found.values[place]));
  const values = there.map((place) => found.values[place] ?? 0);
  if (!show.unit) {
    return [grouped(there.length), ...states.map((_, code) => String(values.filter((value) => value === code).length))];
  }
  const pods = there.map((place) => found.pods[place] ?? 0);
  const sum = values.reduce((total, value) => total + value, 0);
  return [
    grouped(there.length),
    there.length ? String(Math.round((10 * sum) / there.length) / 10) : "–",
    grouped(values.reduce((largest, value) => Math.max(largest, value), 0)),
    grouped(pods.reduce((total, value) => total + value, 0)),
    grouped(pods.filter((value) => value === 0).length),
  ];
}

export function groupHead(show: Show, states: string[], by: string): string[] {
  const more = show.unit
    ? [`Mean (${show.unit})`, `Most (${show.unit})`, "Pods", "Without a pod"]
    : states.map(capitalised);
  return [by ? capitalised(by) : "Group", "Nodes", ...more];
}
