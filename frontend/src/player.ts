// The player of a simulation: one scrubber that node maps and charts follow, without a request for a frame.
import Plotly from "plotly.js-cartesian-dist-min";
import { updateAddress } from "./columns";
import { formatDuration } from "./duration-words";
import { clamp, nextChangeTime, readCommand, timeAfterFrame } from "./player-time";
import { translate } from "./words";

type Chart = HTMLElement & { on?: (name: string, handler: (event: unknown) => void) => void };

class Player {
  private readonly scrubber: HTMLInputElement;
  private readonly speedSelect: HTMLSelectElement | null;
  private readonly charts: Chart[];
  private readonly endTime: number;
  private readonly changeTimes: number[];
  private playing = 0;
  private lastTick = 0;
  private lineTime = -1;

  constructor(private readonly root: HTMLElement) {
    this.scrubber = root.querySelector<HTMLInputElement>("[data-seek]")!;
    this.speedSelect = root.querySelector<HTMLSelectElement>("[data-speed]");
    this.endTime = Number(this.scrubber.max);
    this.changeTimes = JSON.parse(document.getElementById(root.dataset.changes ?? "")?.textContent ?? "[]") as number[];
    this.charts = [...document.querySelectorAll<Chart>("[data-marked]")];
    this.scrubber.addEventListener("input", () => this.announceTime());
    this.scrubber.addEventListener("change", () => this.settle());
    this.speedSelect?.addEventListener("change", () => updateAddress({ speed: this.speedSelect!.value }));
    root.addEventListener("submit", (event) => event.preventDefault());
    root.addEventListener("keydown", (event) => this.handleKey(event));
    root.querySelector("[data-play]")?.addEventListener("click", () => this.togglePlay());
    for (const link of root.querySelectorAll<HTMLAnchorElement>("[data-step]")) {
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        this.stepChanges(Number(link.dataset.step));
      });
    }
    document.addEventListener("figuredrawn", (event) => {
      const chart = event.target as Chart;
      if (!this.charts.includes(chart)) return;
      if ((event as CustomEvent<{ first: boolean }>).detail.first) this.seekOnClick(chart);
      this.drawTimeLine(chart);
    });
    this.writeClock();
  }

  /** A point of a figure that is chosen says where the time goes. */
  private seekOnClick(chart: Chart): void {
    chart.on?.("plotly_click", (event) => {
      const x = (event as { points?: { x?: unknown }[] }).points?.[0]?.x;
      if (typeof x === "number") this.stopAt(x * this.secondsPerUnit(chart));
    });
  }

  private get time(): number {
    return Number(this.scrubber.value);
  }

  private secondsPerUnit(chart: HTMLElement): number {
    const source = document.getElementById(chart.dataset.figure ?? "")?.textContent;
    const figure = JSON.parse(source ?? '{"layout":{}}') as { layout: { meta?: { scale?: number } } };
    return figure.layout.meta?.scale ?? 1;
  }

  private handleKey(event: KeyboardEvent): void {
    const action = readCommand(event, event.target === this.scrubber);
    if (!action) return;
    event.preventDefault();
    if (action.do === "toggle") this.togglePlay();
    else if (action.do === "step") this.stepChanges(action.steps);
    else this.changeSpeed(action.steps);
  }

  private changeSpeed(steps: number): void {
    const speed = this.speedSelect;
    if (!speed) return;
    speed.selectedIndex = clamp(speed.selectedIndex + steps, speed.options.length - 1);
    updateAddress({ speed: speed.value });
  }

  private stepChanges(steps: number): void {
    this.stopAt(nextChangeTime(this.changeTimes, this.time, this.endTime, steps));
  }

  /** Stops, and stays at `time`. */
  private stopAt(time: number): void {
    this.stop();
    this.seekTo(time);
    this.settle();
  }

  private seekTo(time: number): void {
    this.scrubber.value = String(clamp(time, this.endTime));
    this.announceTime();
  }

  private togglePlay(): void {
    if (this.playing) {
      this.stop();
      this.settle();
      return;
    }
    if (this.time >= this.endTime) this.seekTo(0);
    this.playing = requestAnimationFrame((now) => {
      this.lastTick = now;
      this.advance(now);
    });
    this.labelPlayButton("pause");
  }

  private advance(now: number): void {
    const elapsed = now - this.lastTick;
    this.lastTick = now;
    this.seekTo(timeAfterFrame(this.time, this.endTime, elapsed, Number(this.speedSelect?.value ?? 20)));
    if (this.time < this.endTime) {
      this.playing = requestAnimationFrame((next) => this.advance(next));
      return;
    }
    this.stop();
    this.settle();
  }

  private stop(): void {
    if (!this.playing) return;
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.labelPlayButton("play");
  }

  private labelPlayButton(icon: "play" | "pause"): void {
    const button = this.root.querySelector<HTMLElement>("[data-play]");
    button?.setAttribute("aria-pressed", String(icon === "pause"));
    const text = button?.querySelector("span");
    if (text) text.textContent = icon === "play" ? translate("Play") : translate("Pause");
    const use = button?.querySelector("use");
    use?.setAttribute("href", (use.getAttribute("href") ?? "").replace(/#.*/, `#${icon}`));
  }

  private writeClock(): void {
    const clock = this.root.querySelector<HTMLElement>("[data-clock]");
    if (clock) clock.textContent = formatDuration(this.time);
    this.scrubber.setAttribute(
      "aria-valuetext",
      translate("%(time)s of %(end)s", { time: formatDuration(this.time), end: formatDuration(this.endTime) }),
    );
  }

  private announceTime(settled = false): void {
    this.writeClock();
    document.dispatchEvent(new CustomEvent("timechange", { detail: { time: this.time, settled } }));
    this.moveTimeLines(settled);
  }

  /** A line in every chart over time; it moves once it has a pixel to go. */
  private moveTimeLines(redraw: boolean): void {
    if (!redraw && Math.abs(this.time - this.lineTime) < this.endTime / 400) return;
    this.lineTime = this.time;
    for (const chart of this.charts) if (chart.on) this.drawTimeLine(chart);
  }

  private drawTimeLine(chart: Chart): void {
    const x = this.time / this.secondsPerUnit(chart);
    const line = { color: "#d55e00", width: 2 };
    void Plotly.relayout(chart, { shapes: [{ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line }] });
  }

  /** Once the person rests: the address, the links and the tables follow. */
  private settle(): void {
    this.announceTime(true);
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
