// What a node map says at a time. web/nodemap/nodemap.py says the same of the time that the page was asked for.
import { grouped } from "./columns";
import { formatDuration } from "./durations";
import { n, t } from "./words";

export type Show = { name: string; label: string; unit: string; verb: string; what: string };
export type Values = { values: ArrayLike<number>; pods: ArrayLike<number> }; // one a node, NaN where it is not there

const whole = (value: number) => Math.floor(value + 0.5);
const nodes = (count: number) => n("%(number)s node", "%(number)s nodes", count, { number: grouped(count) });

export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A resource in a sentence. */
export function resourceWord(name: string): string {
  return name === "cpu" ? "CPU" : name === "memory" ? t("memory") : name;
}

/** A choice of colouring in the language of the page: it comes over REST, which is in English. */
export function worded(show: Show): Show {
  const what = resourceWord(show.what);
  if (what)
    return {
      ...show,
      what,
      label: show.verb === "used" ? t("%(what)s used", { what }) : t("%(what)s requested", { what }),
    };
  return { ...show, label: show.unit ? t("pods on the node") : t("state of the node") };
}

/** The states of nodes, in the order of their codes, in the language of the page. */
export function wordedStates(): string[] {
  return [t("without a pod"), t("with pods"), t("full"), t("cordoned"), t("not ready")];
}

/** What nodes are grouped by, in words. */
export function grouping(by: string): string {
  const known: Record<string, string> = {
    zone: t("zone"),
    region: t("region"),
    "instance type": t("instance type"),
    pool: t("pool"),
  };
  return known[by] ?? by;
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
  if (time === undefined) return capitalised(said);
  return t("%(moment)s, %(said)s", { moment: t("After %(time)s", { time: formatDuration(time) }), said });
}

function sentence(show: Show, states: string[], found: Values, there: number[]): string {
  const values = there.map((place) => found.values[place] ?? 0);
  const empty = there.filter((place) => found.pods[place] === 0).length;
  const count = nodes(there.length);
  const sum = values.reduce((total, value) => total + value, 0);
  const most = values.reduce((largest, value) => Math.max(largest, value), 0);
  if (!show.unit) {
    const parts = states.map((words, code) => `${grouped(values.filter((value) => value === code).length)} ${words}`);
    return t("%(nodes)s: %(parts)s.", { nodes: count, parts: parts.join(t(", ")) });
  }
  const told = { nodes: count, what: show.what, empty: grouped(empty) };
  if (show.unit === "pods") {
    return t("%(nodes)s with %(pods)s pods, at most %(most)s on one, %(empty)s with none.", {
      ...told,
      pods: grouped(sum),
      most: grouped(most),
    });
  }
  if (!there.length) return t("no node has %(what)s.", told);
  const shares = { ...told, mean: whole(sum / there.length), most: whole(most), empty: nodes(empty) };
  return show.verb === "used"
    ? t(
        "%(what)s of %(nodes)s: %(mean)s % used on average, %(most)s % on the fullest; %(empty)s without a pod.",
        shares,
      )
    : t(
        "%(what)s of %(nodes)s: %(mean)s % requested on average, %(most)s % on the fullest; %(empty)s without a pod.",
        shares,
      );
}

/** What is shown of one node: "63 % CPU requested", "12 pods", "cordoned". */
export function amount(show: Show, states: string[], value: number): string {
  if (Number.isNaN(value)) return show.unit ? t("%(label)s unknown", { label: show.label }) : t("not there");
  if (!show.unit) return states[value] ?? "";
  if (show.unit === "pods") return t("%(number)s pods", { number: grouped(value) });
  return t("%(number)s % %(label)s", { number: grouped(value), label: show.label });
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

const unitOf = (show: Show) => (show.unit === "pods" ? t("pods") : show.unit);

export function groupHead(show: Show, states: string[], by: string): string[] {
  const more = show.unit
    ? [
        t("Mean (%(unit)s)", { unit: unitOf(show) }),
        t("Most (%(unit)s)", { unit: unitOf(show) }),
        t("Pods"),
        t("Without a pod"),
      ]
    : states.map(capitalised);
  return [by ? capitalised(grouping(by)) : t("Group"), t("Nodes"), ...more];
}
