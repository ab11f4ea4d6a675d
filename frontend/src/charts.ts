// Draws the figures of a page. The server makes them without colours: these come from the theme's tokens, as a template.
import Plotly from "plotly.js-cartesian-dist-min";
import { themeColour } from "./columns";
import { addFigureMenu, tableOfFigure } from "./figure-export";
import { type Figure, fitToPhone } from "./narrow";
import { STEPS } from "./nodemap-scale";
import { startPlayers } from "./player";

const PAPER = 680; // pixels of its width
// Okabe and Ito's colours, told apart by everybody, without the yellow and the black that one theme swallows.
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"];

/** What belongs to one policy of a comparison has its colour in every figure: meta.side is the policy's place. */
function colourBySide(trace: Record<string, unknown>): void {
  const side = (trace.meta as { side?: number } | undefined)?.side;
  if (side === undefined) return;
  const color = COLOURS[side % COLOURS.length];
  trace.marker = { ...(trace.marker as object | undefined), color };
  if (trace.type === "scatter") trace.line = { ...(trace.line as object | undefined), color };
}

/** Deviations on both sides of a median have the colours of the matrix: meta.scale is "diverging". */
function useDivergingScale(trace: Record<string, unknown>): void {
  if ((trace.meta as { scale?: string } | undefined)?.scale !== "diverging") return;
  trace.colorscale = [
    [0, themeColour("below-3")],
    [0.5, themeColour("median")],
    [1, themeColour("above-3")],
  ];
}

/** Plotly's template of the theme's tokens: what a figure does not say itself. */
function themeTemplate(narrow: boolean): object {
  const text = themeColour("text");
  const line = themeColour("line");
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, tickcolor: line, automargin: true };
  const colorscale = Array.from({ length: STEPS }, (_, step) => [step / (STEPS - 1), themeColour(`map-${step}`)]);
  return {
    data: { heatmap: [{ type: "heatmap", colorscale }] },
    layout: {
      xaxis: axis,
      yaxis: axis,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      colorway: COLOURS,
      font: { family: getComputedStyle(document.body).fontFamily, size: narrow ? 10 : 12, color: text },
      margin: { l: 8, r: 8, t: 8, b: 40 },
      hoverlabel: { bgcolor: themeColour("raised"), bordercolor: line, font: { color: text } },
    },
  };
}

function figureOf(element: HTMLElement): Figure | undefined {
  const source = document.getElementById(element.dataset.figure ?? "");
  return source?.textContent ? (JSON.parse(source.textContent) as Figure) : undefined;
}

function drawFigure(element: HTMLElement, widest?: number): void {
  whenVisible.unobserve(element);
  farFigures.delete(element);
  const figure = figureOf(element);
  if (!figure) return;
  element.style.height = "";
  const narrow = element.clientWidth < 500;
  if (widest) figure.layout.width = Math.min(element.clientWidth, widest);
  figure.data.forEach(colourBySide);
  figure.data.forEach(useDivergingScale);
  if (narrow) fitToPhone(figure);
  void Plotly.react(
    element,
    figure.data,
    { ...figure.layout, template: themeTemplate(narrow) },
    { displayModeBar: false, responsive: true },
  );
  const first = !element.dataset.bound;
  if (first) {
    element.dataset.bound = "yes";
    addMenu(element);
    // A point whose customdata ends with an address opens it, as does one whose x or y layout.meta.links knows.
    const plot = element as unknown as {
      on(name: string, handler: (event: unknown) => void): void;
      layout: { meta?: { links?: Record<string, string> } };
    };
    plot.on("plotly_click", (event) => {
      const point = (event as { points?: { customdata?: unknown; x?: unknown; y?: unknown }[] }).points?.[0];
      const data = point?.customdata;
      const links = plot.layout.meta?.links ?? {};
      const address = Array.isArray(data)
        ? data[data.length - 1]
        : (links[String(point?.y)] ?? links[String(point?.x)]);
      if (typeof address === "string" && address.startsWith("/")) location.assign(address);
    });
  }
  element.dispatchEvent(new CustomEvent("figuredrawn", { bubbles: true, detail: { first } }));
}

/** Plotly gives the address of a drawing. */
async function drawingOf(element: HTMLElement): Promise<SVGSVGElement> {
  const { clientWidth: width, clientHeight: height } = element;
  const address = await Plotly.toImage(element, { format: "svg", width, height });
  const text = decodeURIComponent(address.slice(address.indexOf(",") + 1));
  return new DOMParser().parseFromString(text, "image/svg+xml").documentElement as unknown as SVGSVGElement;
}

function addMenu(element: HTMLElement): void {
  const name = element.dataset.figure!;
  element.id ||= `${name}-drawn`;
  addFigureMenu(element.closest("figure"), element.id, {
    svg: () => drawingOf(element),
    table: () => {
      const { data, layout } = element as unknown as { data: object[]; layout: object };
      return tableOfFigure(data, layout);
    },
  });
}

// Figures that are hidden, or more than a screen away, are drawn once they are not …
const whenVisible = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) drawFigure(target as HTMLElement);
  },
  { rootMargin: "100% 0px" },
);

// … and those far away before that, one by one, where the page has nothing else to do. Safari does not tell.
const farFigures = new Set<HTMLElement>();
const whenIdle = (then: () => void): unknown => window.requestIdleCallback?.(then) ?? setTimeout(then, 100);

function drawFar(): void {
  const [next] = farFigures;
  if (!next) return;
  drawFigure(next);
  whenIdle(drawFar);
}

function isNear(element: HTMLElement): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return top < 2 * innerHeight && bottom > -innerHeight;
}

function listFigures(root: ParentNode): HTMLElement[] {
  return [...root.querySelectorAll<HTMLElement>("[data-figure]")];
}

function drawNear(root: ParentNode = document): void {
  const placeholders = listFigures(root);
  // Each keeps its place free, so that nothing moves when it is drawn.
  for (const element of placeholders) {
    const height = element.dataset.bound ? undefined : figureOf(element)?.layout.height;
    if (typeof height === "number") element.style.height = `${height}px`;
  }
  const visible = placeholders.filter((element) => element.clientWidth > 0);
  const first = visible.filter(isNear);
  for (const element of placeholders) whenVisible.observe(element);
  for (const element of visible) farFigures.add(element);
  for (const element of first) drawFigure(element);
  whenIdle(drawFar);
}

/** Paper is light and narrower than most screens. */
function startPrinting(): void {
  const root = document.documentElement;
  let chosen: string | undefined;
  addEventListener("beforeprint", () => {
    chosen = root.dataset.theme;
    root.dataset.theme = "light";
    root.dataset.paper = String(PAPER);
    document.dispatchEvent(new Event("themechange"));
    for (const element of listFigures(document)) drawFigure(element, PAPER);
  });
  addEventListener("afterprint", () => {
    delete root.dataset.paper;
    if (chosen) root.dataset.theme = chosen;
    else delete root.dataset.theme;
    // Once the screen has its size back.
    requestAnimationFrame(() => {
      document.dispatchEvent(new Event("themechange"));
      for (const element of document.querySelectorAll<HTMLElement>("[data-figure].js-plotly-plot")) {
        void Plotly.relayout(element, { autosize: true });
      }
    });
  });
}

startPlayers();
drawNear();
document.addEventListener("themechange", () => drawNear());
startPrinting();
if (document.documentElement.classList.contains("report")) {
  // Pages of the site hear of it from theme.ts.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawNear());
}
document.body.addEventListener("htmx:afterSettle", (event) => drawNear(event.target as HTMLElement));
