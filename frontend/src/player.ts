// The player of a simulation: one scrubber that node maps and charts follow, without a request for a frame.
import Plotly from "plotly.js-cartesian-dist-min";
import { updateAddress } from "./columns";
import { formatDuration } from "./durations";
import { clamp, command, playFrame, stepTime } from "./player-time";
import { t } from "./words";

type Chart = HTMLElement & { on?: (name: string, handler: (event: unknown) => void) => void };

class Player {
  private readonly seek: HTMLInputElement;
  private readonly speed: HTMLSelectElement | null;
  private readonly charts: Chart[];
  private readonly end: number;
  private readonly changes: number[];
  private playing = 0;
  private lastTick = 0;
  private lineTime = -1;

  constructor(private readonly root: HTMLElement) {
    this.seek = root.querySelector<HTMLInputElement>("[data-seek]")!;
    this.speed = root.querySelector<HTMLSelectElement>("[data-speed]");
    this.end = Number(this.seek.max);
    this.changes = JSON.parse(document.getElementById(root.dataset.changes ?? "")?.textContent ?? "[]") as number[];
    this.charts = [...document.querySelectorAll<Chart>("[data-marked]")];
    this.seek.addEventListener("input", () => this.show());
    this.seek.addEventListener("change", () => this.settle());
    this.speed?.addEventListener("change", () => updateAddress({ speed: this.speed!.value }));
    root.addEventListener("submit", (event) => event.preventDefault());
    root.addEventListener("keydown", (event) => this.handleKey(event));
    root.querySelector("[data-play]")?.addEventListener("click", () => this.toggle());
    for (const link of root.querySelectorAll<HTMLAnchorElement>("[data-step]")) {
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        this.step(Number(link.dataset.step));
      });
    }
    document.addEventListener("figuredrawn", (event) => {
      const chart = event.target as Chart;
      if (!this.charts.includes(chart)) return;
      if ((event as CustomEvent<{ first: boolean }>).detail.first) this.follow(chart);
      this.mark(chart);
    });
    this.words();
  }

  /** A point of a figure that is chosen says where the time goes. */
  private follow(chart: Chart): void {
    chart.on?.("plotly_click", (event) => {
      const x = (event as { points?: { x?: unknown }[] }).points?.[0]?.x;
      if (typeof x === "number") this.stopAt(x * this.scale(chart));
    });
  }

  private get time(): number {
    return Number(this.seek.value);
  }

  private scale(chart: HTMLElement): number {
    const source = document.getElementById(chart.dataset.figure ?? "")?.textContent;
    const figure = JSON.parse(source ?? '{"layout":{}}') as { layout: { meta?: { scale?: number } } };
    return figure.layout.meta?.scale ?? 1;
  }

  private handleKey(event: KeyboardEvent): void {
    const action = command(event, event.target === this.seek);
    if (!action) return;
    event.preventDefault();
    if (action.do === "toggle") this.toggle();
    else if (action.do === "step") this.step(action.steps);
    else this.faster(action.steps);
  }

  private faster(steps: number): void {
    const { speed } = this;
    if (!speed) return;
    speed.selectedIndex = clamp(speed.selectedIndex + steps, speed.options.length - 1);
    updateAddress({ speed: speed.value });
  }

  private step(steps: number): void {
    this.stopAt(stepTime(this.changes, this.time, this.end, steps));
  }

  /** Stops, and stays at `time`. */
  private stopAt(time: number): void {
    this.stop();
    this.go(time);
    this.settle();
  }

  private go(time: number): void {
    this.seek.value = String(clamp(time, this.end));
    this.show();
  }

  private toggle(): void {
    if (this.playing) {
      this.stop();
      this.settle();
      return;
    }
    if (this.time >= this.end) this.go(0);
    this.playing = requestAnimationFrame((now) => {
      this.lastTick = now;
      this.tick(now);
    });
    this.label("pause");
  }

  private tick(now: number): void {
    const elapsed = now - this.lastTick;
    this.lastTick = now;
    this.go(playFrame(this.time, this.end, elapsed, Number(this.speed?.value ?? 20)));
    if (this.time < this.end) {
      this.playing = requestAnimationFrame((next) => this.tick(next));
      return;
    }
    this.stop();
    this.settle();
  }

  private stop(): void {
    if (!this.playing) return;
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.label("play");
  }

  private label(icon: "play" | "pause"): void {
    const button = this.root.querySelector<HTMLElement>("[data-play]");
    button?.setAttribute("aria-pressed", String(icon === "pause"));
    const text = button?.querySelector("span");
    if (text) text.textContent = icon === "play" ? t("Play") : t("Pause");
    const use = button?.querySelector("use");
    use?.setAttribute("href", (use.getAttribute("href") ?? "").replace(/#.*/, `#${icon}`));
  }

  private words(): void {
    const clock = this.root.querySelector<HTMLElement>("[data-clock]");
    if (clock) clock.textContent = formatDuration(this.time);
    this.seek.setAttribute(
      "aria-valuetext",
      t("%(time)s of %(end)s", { time: formatDuration(this.time), end: formatDuration(this.end) }),
    );
  }

  private show(settled = false): void {
    this.words();
    document.dispatchEvent(new CustomEvent("timechange", { detail: { time: this.time, settled } }));
    this.line(settled);
  }

  /** A line in every chart over time; it moves once it has a pixel to go. */
  private line(redraw: boolean): void {
    if (!redraw && Math.abs(this.time - this.lineTime) < this.end / 400) return;
    this.lineTime = this.time;
    for (const chart of this.charts) if (chart.on) this.mark(chart);
  }

  private mark(chart: Chart): void {
    const x = this.time / this.scale(chart);
    const line = { color: "#d55e00", width: 2 };
    void Plotly.relayout(chart, { shapes: [{ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line }] });
  }

  /** Once the person rests: the address, the links and the tables follow. */
  private settle(): void {
    this.show(true);
    const timeText = String(Number(this.time.toFixed(6)));
    updateAddress({ at: timeText });
    for (const link of document.querySelectorAll<HTMLAnchorElement>('main a[href^="?"]')) {
      const target = new URL(link.href);
      target.searchParams.set("at", timeText);
      link.setAttribute("href", `${target.search}${target.hash}`);
    }
    for (const field of document.querySelectorAll<HTMLInputElement>('input[type="hidden"][name="at"]'))
      field.value = timeText;
    const part = document.querySelector<HTMLElement>("[data-follows]");
    if (part) {
      const address = location.href.replace(/#.*/, "");
      void window.htmx?.ajax("GET", address, { target: part, swap: "outerHTML" });
    }
  }
}

declare global {
  interface Window {
    htmx?: { ajax(verb: string, path: string, context: object): Promise<void> };
  }
}

export function startPlayers(): void {
  for (const root of document.querySelectorAll<HTMLElement>("[data-player]")) new Player(root);
}
