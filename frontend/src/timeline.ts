// One scrubber over a simulation: node maps play from frames that are fetched once, charts show where it stands.
import Plotly from "plotly.js-cartesian-dist-min";

/** Percent of each node at each time, 255 where there is no node: values[time * nodes + node]. */
type Frames = { times: number[]; nodes: number; values: string };
type Loaded = { times: number[]; nodes: number; values: Uint8Array };
type Map = { element: HTMLElement; cells: number[][]; loaded: Loaded | undefined; shown: number };
type Drawn = HTMLElement & { on?: (name: string, handler: (event: unknown) => void) => void };

const NONE = 255;

function figureOf(element: HTMLElement): { layout: { meta?: { cells?: number[][]; scale?: number } } } {
  return JSON.parse(document.getElementById(element.dataset["figure"] ?? "")?.textContent ?? '{"layout":{}}');
}

/** "1 d 2 h", "3 h 20 min", "4 min 5 s", "2.5 s": two units are enough. */
export function span(seconds: number): string {
  if (seconds < 60) return `${Number(seconds.toFixed(seconds < 10 ? 1 : 0))} s`;
  const whole = Math.floor(seconds);
  const parts: [number, string][] = [
    [Math.floor(whole / 86400), "d"],
    [Math.floor(whole / 3600) % 24, "h"],
    [Math.floor(whole / 60) % 60, "min"],
    [whole % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(" ");
}

function last(times: number[], time: number): number {
  let low = 0;
  for (let high = times.length - 1; low < high; ) {
    const middle = (low + high + 1) >> 1;
    if ((times[middle] ?? Infinity) <= time + 1e-9) low = middle;
    else high = middle - 1;
  }
  return low;
}

class Timeline {
  private readonly seek: HTMLInputElement;
  private readonly maps: Map[];
  private readonly marked: HTMLElement[];
  private readonly end: number;
  private playing = 0;
  private before = 0;

  constructor(private readonly root: HTMLElement) {
    this.seek = root.querySelector<HTMLInputElement>("[data-seek]")!;
    this.end = Number(this.seek.max);
    this.maps = [...document.querySelectorAll<HTMLElement>("[data-frames]")].map((element) => ({
      element,
      cells: figureOf(element).layout.meta?.cells ?? [],
      loaded: undefined,
      shown: -1,
    }));
    this.marked = [...document.querySelectorAll<HTMLElement>("[data-marked]")];
    this.seek.addEventListener("input", () => this.show());
    this.seek.addEventListener("change", () => this.settle());
    root.querySelector("[data-play]")?.addEventListener("click", () => (this.playing ? this.pause() : this.play()));
    for (const link of root.querySelectorAll<HTMLAnchorElement>("[data-step]")) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        this.pause();
        this.go(this.time + (Number(link.dataset["step"]) * this.end) / 100);
        this.settle();
      });
    }
    document.addEventListener("themechange", () => this.show(true));
    for (const element of this.marked as Drawn[]) {
      element.on?.("plotly_click", (event) => {
        const x = (event as { points?: { x?: unknown }[] }).points?.[0]?.x;
        if (typeof x !== "number") return;
        this.pause();
        this.go(x * this.scale(element));
        this.settle();
      });
    }
    void this.load();
    this.show(true);
  }

  private get time(): number {
    return Number(this.seek.value);
  }

  private scale(element: HTMLElement): number {
    return figureOf(element).layout.meta?.scale ?? 1;
  }

  private async load(): Promise<void> {
    await Promise.all(
      this.maps.map(async (map) => {
        const answer = await fetch(map.element.dataset["frames"] ?? "");
        if (!answer.ok) return;
        const found = (await answer.json()) as Frames;
        map.loaded = { ...found, values: Uint8Array.from(atob(found.values), (one) => one.charCodeAt(0)) };
      }),
    );
    this.show(true);
  }

  private go(time: number): void {
    this.seek.value = String(Math.min(Math.max(time, 0), this.end));
    this.show();
  }

  private play(): void {
    if (this.time >= this.end) this.go(0);
    this.playing = requestAnimationFrame((now) => {
      this.before = now;
      this.tick(now);
    });
    this.label("Pause");
  }

  private tick(now: number): void {
    const whole = Number(this.root.querySelector<HTMLSelectElement>("[data-speed]")?.value ?? 20);
    this.go(this.time + ((now - this.before) / 1000) * (this.end / whole));
    this.before = now;
    if (this.time >= this.end) {
      this.pause();
      this.settle();
    } else this.playing = requestAnimationFrame((next) => this.tick(next));
  }

  private pause(): void {
    if (!this.playing) return;
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.label("Play");
    this.settle();
  }

  private label(word: string): void {
    const button = this.root.querySelector<HTMLElement>("[data-play]");
    button?.setAttribute("aria-pressed", String(word === "Pause"));
    const text = button?.querySelector("span");
    if (text) text.textContent = word;
    const use = button?.querySelector("use");
    use?.setAttribute("href", (use.getAttribute("href") ?? "").replace(/#.*/, `#${word.toLowerCase()}`));
  }

  private show(anew = false): void {
    const clock = this.root.querySelector<HTMLElement>("[data-clock]");
    if (clock) clock.textContent = span(this.time);
    this.seek.setAttribute("aria-valuetext", span(this.time));
    let moved = anew;
    for (const map of this.maps) moved = this.draw(map, anew) || moved;
    if (!moved) return;
    for (const element of this.marked as Drawn[]) {
      if (!element.on) continue;
      const x = this.time / this.scale(element);
      const line = { color: "#d55e00", width: 2 };
      void Plotly.relayout(element, { shapes: [{ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line }] });
    }
  }

  private draw(map: Map, anew: boolean): boolean {
    if (!map.loaded) return false;
    const frame = last(map.loaded.times, this.time);
    if (frame === map.shown && !anew) return false;
    map.shown = frame;
    const { nodes, values } = map.loaded;
    const z = map.cells.map((line) =>
      line.map((node) => {
        const value = node < 0 ? NONE : values[frame * nodes + node];
        return value === undefined || value === NONE ? null : value;
      }),
    );
    void Plotly.restyle(map.element, { z: [z] }, [0]);
    return true;
  }

  /** Once the person rests: the address, the links and the table of pods follow. */
  private settle(): void {
    const at = String(Number(this.time.toFixed(3)));
    const address = new URL(location.href);
    address.searchParams.set("at", at);
    history.replaceState(history.state, "", address);
    for (const link of document.querySelectorAll<HTMLAnchorElement>("a[data-at]")) {
      const to = new URL(link.href);
      to.searchParams.set("at", at);
      link.href = to.href;
    }
    for (const field of document.querySelectorAll<HTMLInputElement>('input[type="hidden"][name="at"]')) field.value = at;
    const part = document.querySelector<HTMLElement>("[data-follows]");
    if (part) {
      address.hash = "";
      window.htmx?.ajax("GET", address.href, { target: part, swap: "outerHTML", select: `#${part.id}` });
    }
  }
}

declare global {
  interface Window {
    htmx?: { ajax(verb: string, path: string, context: object): Promise<void> };
  }
}

export function startTimelines(): void {
  for (const root of document.querySelectorAll<HTMLElement>("[data-timeline]")) new Timeline(root);
}
