// The colours of a map: a scale over the range of the data, with names for what its colours and borders mean.
import { createElement, formatNumber } from "./columns";
import { BORDERS, type Border } from "./nodemap-draw";
import type { Colouring } from "./nodemap-words";
import { translate } from "./words";

/** Steps of the scale; tokens.css has a colour and an ink for each. */
export const STEPS = 10;
const ROUND_PERCENT = 5;

/** `isOpenEnded`: the last colour stands for what is beyond the end too. */
export type Range = { least: number; most: number; isOpenEnded?: boolean };

/** The ends of the scale over what the data holds: whole numbers, of percent multiples of five up to 100. */
export function valueRange(show: Colouring, least: number, most: number): Range {
  if (!(least <= most)) return { least: 0, most: show.unit === "%" ? 100 : 1 };
  const unit = show.unit === "%" ? ROUND_PERCENT : 1;
  const [low, high] = [Math.floor(least / unit) * unit, Math.ceil(most / unit) * unit];
  // A node of which more is requested than it has looks full, and pales no other.
  if (show.unit === "%" && high > 100 && low < 100) return { least: low, most: 100, isOpenEnded: true };
  return { least: low, most: high > low ? high : low + unit };
}

/** The class of the colour of `value`: m0 to m9, by its place between the ends. */
export function stepClass(value: number, { least, most }: Range): string {
  const step = Math.floor(((value - least) / (most - least)) * STEPS);
  return `m${Math.min(Math.max(step, 0), STEPS - 1)}`;
}

/** What the colours mean, and those of the borders that some cell has. */
export function renderLegend(show: Colouring, range: Range, categories: string[], borders: Set<Border>): HTMLElement[] {
  const colours = show.unit
    ? renderRamp(show, range)
    : categories.map((words, code) => renderEntry(categoryClass(show, code), words));
  const words = borderLabels();
  const signs = (show.name === "state" ? [] : BORDERS)
    .filter((border) => borders.has(border))
    .map((border) => renderEntry(`edge ${border}`, words[border]));
  return [createElement("span", "soft", show.label), ...colours, ...signs];
}

/** The class of a colour that stands for a word: states of nodes, or verdicts about them. */
export function categoryClass(show: Colouring, code: number): string {
  return show.words ? `v${Math.min(code, 4)}` : `s${code}`;
}

export function borderLabels(): Record<Border, string> {
  return {
    full: translate("full"),
    cordoned: translate("cordoned"),
    "not-ready": translate("not ready"),
    gone: translate("removed"),
    changed: translate("changed"),
  };
}

function renderRamp(show: Colouring, { least, most, isOpenEnded }: Range): HTMLElement[] {
  const unit = show.unit === "%" ? " %" : "";
  const colours = createElement("span", "ramp");
  for (let step = 0; step < STEPS; step += 1) colours.append(createElement("span", `map-swatch m${step}`));
  const end = `${formatNumber(most)}${unit}`;
  return [
    createElement("span", "", `${formatNumber(least)}${unit}`),
    colours,
    createElement("span", "", isOpenEnded ? translate("%(end)s and more", { end }) : end),
  ];
}

function renderEntry(kind: string, words: string): HTMLElement {
  const line = createElement("span", "entry");
  line.append(createElement("span", `map-swatch ${kind}`), words);
  return line;
}
