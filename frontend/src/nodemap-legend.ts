// What the colours of a node map mean.
import { element, formatNumber } from "./columns";
import type { Colouring } from "./nodemap-words";
import { t } from "./words";

export const CIVIDIS = ["#00224e", "#35456c", "#585f6e", "#7c7b78", "#a59c74", "#d2c060", "#fee838"];
// Okabe and Ito's: without a pod, with pods, full, cordoned, not ready.
export const STATES = ["#56b4e9", "#0072b2", "#cc79a7", "#e69f00", "#d55e00"];

/** `maxValue` is what the last colour stands for; with `isOpenEnded`, for whatever is beyond it too. */
export function legend(show: Colouring, states: string[], maxValue: number, isOpenEnded: boolean): HTMLElement[] {
  const entries = show.unit
    ? ramp(show, maxValue, isOpenEnded)
    : states.map((words, code) => entry(STATES[code] ?? "#888", words));
  return [
    element("span", "soft", show.label),
    ...entries,
    hatchEntry(),
    element("span", "soft", t("blank: not there yet, or nothing known")),
  ];
}

function ramp(show: Colouring, maxValue: number, isOpenEnded: boolean): HTMLElement[] {
  const colours = element("span", "ramp");
  colours.append(...CIVIDIS.map(swatch));
  const [first, end] =
    show.unit === "%" ? ["0 %", `${maxValue} %`] : ["0", t("%(number)s pods", { number: formatNumber(maxValue) })];
  return [
    element("span", "", first),
    colours,
    element("span", "", isOpenEnded && show.unit === "%" ? t("%(end)s and more", { end }) : end),
  ];
}

function entry(colour: string, words: string): HTMLElement {
  const entry = element("span", "entry");
  entry.append(swatch(colour), words);
  return entry;
}

function hatchEntry(): HTMLElement {
  const entry = element("span", "entry");
  entry.append(element("span", "swatch hatched"), t("gone or not ready"));
  return entry;
}

function swatch(colour: string): HTMLElement {
  const square = element("span", "swatch");
  square.style.background = colour;
  return square;
}
