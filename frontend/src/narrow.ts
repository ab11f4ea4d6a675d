// What a figure becomes on a phone.
export type Figure = { data: Record<string, unknown>[]; layout: Record<string, unknown> };

const WIDEST_NAME = 18; // letters of a bar's name beside the figure
const WIDEST_TITLE = 30; // … of an axis's title
const MOST_NAMES = 25; // more of them are thinned by Plotly, which it does not with given ones

/** Gives a narrow figure its width: scales of colours lie above it, long names and titles stand in several lines. */
export function fitToPhone({ data, layout }: Figure): void {
  for (const trace of data) {
    if (trace.type !== "heatmap" || trace.showscale === false) continue;
    const bar = trace.colorbar as { title?: { text?: string }; tickvals?: number[]; ticktext?: string[] } | undefined;
    const title = { text: bar?.title?.text ?? "", side: "top" };
    const ticks = bar?.tickvals && { tickvals: bar.tickvals, ticktext: bar.ticktext };
    trace.colorbar = { orientation: "h", thickness: 8, len: 1, y: 1, yanchor: "bottom", title, ...ticks };
    layout.margin = { ...(layout.margin as object | undefined), t: 60 };
  }
  for (const axis of [layout.xaxis, layout.yaxis] as ({ title?: { text?: string } } | undefined)[]) {
    if (axis?.title?.text) axis.title.text = breakLines(axis.title.text, WIDEST_TITLE);
  }
  const axis = (layout.yaxis ?? {}) as Record<string, unknown>;
  const names = new Set(data.flatMap((trace) => (Array.isArray(trace.y) ? (trace.y as unknown[]) : [trace.name])));
  const texts = [...names].filter((name): name is string => typeof name === "string");
  if (axis.tickvals || axis.type !== "category" || texts.length > MOST_NAMES) return;
  if (!texts.some((name) => name.length > WIDEST_NAME)) return;
  layout.yaxis = { ...axis, tickvals: texts, ticktext: texts.map((name) => breakLines(name, WIDEST_NAME)) };
}

/** A name in up to three lines, broken after spaces and signs, or else anywhere. */
function breakLines(name: string, widest: number): string {
  const parts = name.split(/(?<=[\s\-./@_])/).flatMap((part) => part.match(new RegExp(`.{1,${widest}}`, "g")) ?? []);
  const lines = [""];
  for (const part of parts) {
    const line = lines.at(-1)!;
    if (line && (line + part).trimEnd().length > widest) lines.push(part);
    else lines[lines.length - 1] = line + part;
  }
  return [...lines.slice(0, 2), ...(lines.length > 2 ? [lines.length > 3 ? `${lines[2]}…` : lines[2]!] : [])].join(
    "<br>",
  );
}
