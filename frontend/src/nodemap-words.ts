// What a node map says at a time. web/nodemap/nodemap.py says the same of the time that the page was asked for.
import { formatNumber } from "./columns";
import { formatDuration } from "./durations";
import { n, t } from "./words";

/** `words` are categories of its own, in place of the states of nodes; `summary` is the server's sentence. */
export type Colouring = {
  name: string;
  label: string;
  unit: string;
  verb: string;
  what: string;
  words?: string[];
  summary?: string;
};
export type NodeValues = { values: ArrayLike<number>; pods: ArrayLike<number> }; // one a node, NaN where it is not there

const whole = (value: number) => Math.floor(value + 0.5);
const nodes = (count: number) => n("%(number)s node", "%(number)s nodes", count, { number: formatNumber(count) });

export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A resource in a sentence. */
export function resourceWord(name: string): string {
  return name === "cpu" ? "CPU" : name === "memory" ? t("memory") : name;
}

/** A choice of colouring in the language of the page: it comes over REST, which is in English. */
export function translateColouring(show: Colouring): Colouring {
  if (show.words || show.unit === "score") return show; // It came with the page.
  const resource = resourceWord(show.what);
  if (resource)
    return {
      ...show,
      what: resource,
      label:
        show.verb === "used" ? t("%(what)s used", { what: resource }) : t("%(what)s requested", { what: resource }),
    };
  return { ...show, label: show.unit ? t("pods on the node") : t("state of the node") };
}

/** The states of nodes, in the order of their codes, in the language of the page. */
export function translateStates(): string[] {
  return [t("without a pod"), t("with pods"), t("full"), t("cordoned"), t("not ready")];
}

/** What nodes are grouped by, in words. */
export function groupingWord(groupBy: string): string {
  const words: Record<string, string> = {
    zone: t("zone"),
    region: t("region"),
    "instance type": t("instance type"),
    pool: t("pool"),
  };
  return words[groupBy] ?? groupBy;
}

/** One sentence on the nodes `places` (all without it). `time` is undefined for a snapshot. */
export function summary(
  show: Colouring,
  states: string[],
  nodeValues: NodeValues,
  time: number | undefined,
  places?: number[],
): string {
  const indices = places ?? Array.from({ length: nodeValues.values.length }, (_, place) => place);
  const presentNodes = indices.filter((place) => !Number.isNaN(nodeValues.values[place]));
  const text = show.summary ?? sentence(show, states, nodeValues, presentNodes);
  if (time === undefined) return capitalised(text);
  return t("%(moment)s, %(said)s", { moment: t("After %(time)s", { time: formatDuration(time) }), said: text });
}

function sentence(show: Colouring, states: string[], nodeValues: NodeValues, presentNodes: number[]): string {
  const values = presentNodes.map((place) => nodeValues.values[place] ?? 0);
  const empty = presentNodes.filter((place) => nodeValues.pods[place] === 0).length;
  const count = nodes(presentNodes.length);
  const sum = values.reduce((total, value) => total + value, 0);
  const maximum = values.reduce((largest, value) => Math.max(largest, value), 0);
  if (!show.unit) {
    const parts = states.map(
      (words, code) => `${formatNumber(values.filter((value) => value === code).length)} ${words}`,
    );
    return t("%(nodes)s: %(parts)s.", { nodes: count, parts: parts.join(t(", ")) });
  }
  const wordValues = { nodes: count, what: show.what, empty: formatNumber(empty) };
  if (show.unit === "pods") {
    return t("%(nodes)s with %(pods)s pods, at most %(most)s on one, %(empty)s with none.", {
      ...wordValues,
      pods: formatNumber(sum),
      most: formatNumber(maximum),
    });
  }
  if (!presentNodes.length) return t("no node has %(what)s.", wordValues);
  const shares = { ...wordValues, mean: whole(sum / presentNodes.length), most: whole(maximum), empty: nodes(empty) };
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
export function amount(show: Colouring, states: string[], value: number): string {
  if (Number.isNaN(value)) return show.unit ? t("%(label)s unknown", { label: show.label }) : t("not there");
  if (!show.unit) return states[value] ?? "";
  if (show.unit === "pods") return t("%(number)s pods", { number: formatNumber(value) });
  if (show.unit === "score") return `${show.label} ${formatNumber(value)}`;
  return t("%(number)s % %(label)s", { number: formatNumber(value), label: show.label });
}

/** A row a group, as nodemap.Now.group_table makes them. */
export function groupRow(show: Colouring, states: string[], nodeValues: NodeValues, places: number[]): string[] {
  const presentNodes = places.filter((place) => !Number.isNaN(nodeValues.values[place]));
  const values = presentNodes.map((place) => nodeValues.values[place] ?? 0);
  if (!show.unit) {
    return [
      formatNumber(presentNodes.length),
      ...states.map((_, code) => String(values.filter((value) => value === code).length)),
    ];
  }
  const pods = presentNodes.map((place) => nodeValues.pods[place] ?? 0);
  const sum = values.reduce((total, value) => total + value, 0);
  return [
    formatNumber(presentNodes.length),
    presentNodes.length ? String(Math.round((10 * sum) / presentNodes.length) / 10) : "–",
    formatNumber(values.reduce((largest, value) => Math.max(largest, value), 0)),
    formatNumber(pods.reduce((total, value) => total + value, 0)),
    formatNumber(pods.filter((value) => value === 0).length),
  ];
}

const unitOf = (show: Colouring) =>
  show.unit === "pods" ? t("pods") : show.unit === "score" ? t("points") : show.unit;

export function groupHead(show: Colouring, states: string[], groupBy: string): string[] {
  const columns = show.unit
    ? [
        t("Mean (%(unit)s)", { unit: unitOf(show) }),
        t("Most (%(unit)s)", { unit: unitOf(show) }),
        t("Pods"),
        t("Without a pod"),
      ]
    : states.map(capitalised);
  return [groupBy ? capitalised(groupingWord(groupBy)) : t("Group"), t("Nodes"), ...columns];
}
