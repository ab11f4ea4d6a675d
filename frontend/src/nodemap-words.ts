// What a node map says at a time. web/nodemap/nodemap.py says the same of the time that the page was asked for.
import { formatNumber } from "./columns";
import { formatDuration } from "./duration-words";
import { translate, translateCount } from "./words";

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

const roundHalfUp = (value: number) => Math.floor(value + 0.5);
const countNodes = (count: number) =>
  translateCount("%(number)s node", "%(number)s nodes", count, { number: formatNumber(count) });

export function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A resource in a sentence. */
export function resourceWord(name: string): string {
  return name === "cpu" ? "CPU" : name === "memory" ? translate("memory") : name;
}

/** A choice of colouring in the language of the page: it comes over REST, which is in English. */
export function translateColouring(show: Colouring): Colouring {
  if (show.words || show.summary) return show; // It came with the page.
  const resource = resourceWord(show.what);
  if (resource)
    return {
      ...show,
      what: resource,
      label:
        show.verb === "used"
          ? translate("%(what)s used", { what: resource })
          : translate("%(what)s requested", { what: resource }),
    };
  return { ...show, label: show.unit ? translate("pods on the node") : translate("state of the node") };
}

/** The states of nodes, in the order of their codes, in the language of the page. */
export function translateStates(): string[] {
  return [
    translate("without a pod"),
    translate("with pods"),
    translate("full"),
    translate("cordoned"),
    translate("not ready"),
  ];
}

/** What nodes are grouped by, in words. */
export function groupingWord(groupBy: string): string {
  const words: Record<string, string> = {
    zone: translate("zone"),
    region: translate("region"),
    "instance type": translate("instance type"),
    pool: translate("pool"),
    cluster: translate("cluster"),
  };
  return words[groupBy] ?? groupBy;
}

/** One sentence on the nodes `places` (all without it). `time` is undefined for a snapshot. */
export function describeNodes(
  show: Colouring,
  states: string[],
  nodeValues: NodeValues,
  time: number | undefined,
  places?: number[],
): string {
  const indices = places ?? Array.from({ length: nodeValues.values.length }, (_, place) => place);
  const presentNodes = indices.filter((place) => !Number.isNaN(nodeValues.values[place]));
  const text = show.summary ?? describePresentNodes(show, states, nodeValues, presentNodes);
  if (time === undefined) return capitalise(text);
  return translate("%(moment)s, %(said)s", {
    moment: translate("After %(time)s", { time: formatDuration(time) }),
    said: text,
  });
}

function describePresentNodes(
  show: Colouring,
  states: string[],
  nodeValues: NodeValues,
  presentNodes: number[],
): string {
  const values = presentNodes.map((place) => nodeValues.values[place] ?? 0);
  const empty = presentNodes.filter((place) => nodeValues.pods[place] === 0).length;
  const count = countNodes(presentNodes.length);
  const sum = values.reduce((total, value) => total + value, 0);
  const maximum = values.reduce((largest, value) => Math.max(largest, value), 0);
  if (!show.unit) {
    const parts = states.map(
      (words, code) => `${formatNumber(values.filter((value) => value === code).length)} ${words}`,
    );
    return translate("%(nodes)s: %(parts)s.", { nodes: count, parts: parts.join(translate(", ")) });
  }
  const wordValues = { nodes: count, what: show.what, empty: formatNumber(empty) };
  if (show.unit === "pods") {
    return translate("%(nodes)s with %(pods)s pods, at most %(most)s on one, %(empty)s with none.", {
      ...wordValues,
      pods: formatNumber(sum),
      most: formatNumber(maximum),
    });
  }
  if (!presentNodes.length) return translate("no node has %(what)s.", wordValues);
  const shares = {
    ...wordValues,
    mean: roundHalfUp(sum / presentNodes.length),
    most: roundHalfUp(maximum),
    empty: countNodes(empty),
  };
  return show.verb === "used"
    ? translate(
        "%(what)s of %(nodes)s: %(mean)s % used on average, %(most)s % on the fullest; %(empty)s without a pod.",
        shares,
      )
    : translate(
        "%(what)s of %(nodes)s: %(mean)s % requested on average, %(most)s % on the fullest; %(empty)s without a pod.",
        shares,
      );
}

/** What is shown of one node: "63 % CPU requested", "12 pods", "cordoned". */
export function describeNode(show: Colouring, states: string[], value: number): string {
  if (Number.isNaN(value))
    return show.unit ? translate("%(label)s unknown", { label: show.label }) : translate("not there");
  if (!show.unit) return states[value] ?? "";
  if (show.unit === "pods") return translate("%(number)s pods", { number: formatNumber(value) });
  if (show.unit === "score") return `${show.label} ${formatNumber(value)}`;
  return translate("%(number)s % %(label)s", { number: formatNumber(value), label: show.label });
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
  show.unit === "pods" ? translate("pods") : show.unit === "score" ? translate("points") : show.unit;

export function groupHead(show: Colouring, states: string[], groupBy: string): string[] {
  const columns = show.unit
    ? [
        translate("Mean (%(unit)s)", { unit: unitOf(show) }),
        translate("Most (%(unit)s)", { unit: unitOf(show) }),
        translate("Pods"),
        translate("Without a pod"),
      ]
    : states.map(capitalise);
  return [groupBy ? capitalise(groupingWord(groupBy)) : translate("Group"), translate("Nodes"), ...columns];
}
