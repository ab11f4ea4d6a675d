// The menu of a figure: a picture or the numbers as a file, or a link that leads to it.
import { createElement } from "./columns";
import { translate } from "./words";

const SVG = "http://www.w3.org/2000/svg";
const SHARPNESS = 2; // pixels of a picture for each on the screen
const FORMULA = /^[=+\-@\t\r]/; // what a spreadsheet would compute
// What the classes of a drawing set; a file has no stylesheet.
const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "opacity",
  "display",
  "font",
  "text-anchor",
  "dominant-baseline",
];

export type Table = (string | number | null | undefined)[][];

/** What a figure can be saved as. */
export type Exports = {
  /** The figure in the colours of the screen, whole. */
  svg: () => Promise<SVGSVGElement> | SVGSVGElement;
  /** Its numbers, the head first. */
  table: () => Table;
};

type Trace = Record<string, unknown> & { name?: string };
type Axes = { xaxis?: { title?: unknown }; yaxis?: { title?: unknown } };

/** `table` as CSV, as the server writes it: no cell is a formula for a spreadsheet. */
export function formatCsv(table: Table): string {
  const formatCell = (value: Table[0][0]): string => {
    const text = String(value ?? "");
    const safe = typeof value === "string" && FORMULA.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return table.map((row) => `${row.map(formatCell).join(",")}\r\n`).join("");
}

function titleOf(axis: { title?: unknown } | undefined, otherwise: string): string {
  const title = axis?.title;
  const text = typeof title === "string" ? title : (title as { text?: string } | undefined)?.text;
  return text || otherwise;
}

/** The numbers of a figure of Plotly, a line each point. */
export function tableOfFigure(data: object[], layout: object): Table {
  const { xaxis, yaxis } = layout as Axes;
  const traces = data as Trace[];
  const [x, y] = [titleOf(xaxis, "x"), titleOf(yaxis, "y")];
  if (traces.some((trace) => Array.isArray(trace.z))) {
    const cells = traces.flatMap(({ x: columns, y: rows, z }) =>
      ((z ?? []) as unknown[][]).flatMap((line, row) =>
        line.map((value, column) => [at(columns, column), at(rows, row), value]),
      ),
    );
    return [[x, y, translate("Value")], ...(cells as Table)];
  }
  const points = traces.flatMap((trace) => {
    const count = Math.max(lengthOf(trace.x), lengthOf(trace.y));
    return Array.from({ length: count }, (_, place) => [trace.name, at(trace.x, place), at(trace.y, place)]);
  });
  return [[translate("Line"), x, y], ...(points as Table)];
}

function lengthOf(values: unknown): number {
  return Array.isArray(values) ? values.length : 0;
}

function at(values: unknown, place: number): unknown {
  return Array.isArray(values) ? values[place] : place;
}

/** A copy of `drawing` that needs no stylesheet. */
export function standAlone(drawing: SVGSVGElement): SVGSVGElement {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  copy.setAttribute("xmlns", SVG);
  const originals = drawing.querySelectorAll<SVGElement>("*");
  for (const [place, element] of [...copy.querySelectorAll<SVGElement>("*")].entries()) {
    const style = getComputedStyle(originals[place]!);
    element.setAttribute("style", STYLES.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
    element.removeAttribute("class");
  }
  return copy;
}

function writeSvg(drawing: SVGSVGElement): string {
  return new XMLSerializer().serializeToString(drawing);
}

async function paint(drawing: SVGSVGElement): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(writeSvg(drawing))}`;
  await image.decode();
  const canvas = createElement("canvas");
  canvas.width = SHARPNESS * Number(drawing.getAttribute("width"));
  canvas.height = SHARPNESS * Number(drawing.getAttribute("height"));
  const context = canvas.getContext("2d")!;
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture")))),
  );
}

function download(content: Blob, name: string): void {
  const link = createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Gives the figure around `drawing` its menu; its files are named `name`, its link leads to the element `name`. */
export function addFigureMenu(figure: HTMLElement | null, name: string, exports: Exports): void {
  if (!figure || figure.querySelector(":scope > .figure-menu")) return;
  const menu = createElement("details", "menu figure-menu");
  const summary = createElement("summary", "button small", translate("Export"));
  summary.setAttribute("aria-label", translate("Export or share this figure"));
  const body = createElement("div", "menu-body");
  const addEntry = (text: string, action: () => void | Promise<void>): HTMLButtonElement => {
    const button = createElement("button", "", text);
    button.type = "button";
    button.addEventListener("click", () => {
      void action();
      menu.open = false;
    });
    body.append(button);
    return button;
  };
  addEntry(translate("Picture (PNG)"), async () => download(await paint(await exports.svg()), `${name}.png`));
  addEntry(translate("Drawing (SVG)"), async () =>
    download(new Blob([writeSvg(await exports.svg())], { type: "image/svg+xml" }), `${name}.svg`),
  );
  addEntry(translate("Numbers (CSV)"), () =>
    download(new Blob([formatCsv(exports.table())], { type: "text/csv" }), `${name}.csv`),
  );
  const link = addEntry(translate("Copy link"), () => undefined);
  link.dataset.copy = "";
  link.dataset.anchor = name;
  link.dataset.pins = document.querySelector<HTMLElement>("[data-pins]")?.dataset.pins ?? "";
  menu.append(summary, body);
  figure.append(menu);
}
