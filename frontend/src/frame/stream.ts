/** Parts that ask the server for themselves again: now and then by their own trigger, and at once when a stream says
 * that something changed. A stream that ended is asked for again, ever later; until then the own trigger goes on. */

import { translate } from "../words";

const LEAST = 1000; // milliseconds between two questions, however much happens
const FIRST_REST = 2000; // milliseconds until a stream that ended is asked for again
const LONGEST_REST = 60_000;

export function startStreams(): void {
  for (const element of document.querySelectorAll<HTMLElement>("[data-stream]")) new StreamFollower(element).start();
}

class StreamFollower {
  private source: EventSource | undefined;
  private failures = 0;
  private refreshTimer = 0;
  private lastRefresh = 0;

  constructor(private readonly element: HTMLElement) {}

  start(): void {
    this.openStream();
    document.addEventListener("visibilitychange", () => this.requestRefresh());
    window.addEventListener("pagehide", () => this.source?.close());
  }

  private openStream(): void {
    const source = new EventSource(this.element.dataset.stream ?? "");
    this.source = source;
    source.addEventListener("open", () => {
      if (this.failures) this.requestRefresh(); // what happened in between was not heard
      this.failures = 0;
      this.showNote("");
    });
    source.addEventListener("error", () => this.handleEnd(source));
    for (const name of (this.element.dataset.streamEvents ?? "message").split(" ")) {
      source.addEventListener(name, () => this.requestRefresh());
    }
  }

  /** The server ends each stream after a while; one that does not begin again is told on the page. */
  private handleEnd(source: EventSource): void {
    source.close();
    const longest = Math.min(LONGEST_REST, FIRST_REST * 2 ** this.failures);
    const pause = longest * (0.5 + Math.random() / 2);
    this.failures += 1;
    if (this.failures > 1)
      this.showNote(
        translate("Live updates are interrupted. Next attempt in %(seconds)s s.", { seconds: Math.ceil(pause / 1000) }),
      );
    window.setTimeout(() => this.openStream(), pause);
  }

  private requestRefresh(): void {
    if (this.refreshTimer || document.hidden) return;
    this.refreshTimer = window.setTimeout(
      () => {
        this.refreshTimer = 0;
        this.lastRefresh = Date.now();
        // The part is swapped as a whole, so the one of this moment is asked for.
        this.element.querySelector("[data-refresh]")?.dispatchEvent(new Event("refresh"));
      },
      Math.max(0, this.lastRefresh + LEAST - Date.now()),
    );
  }

  private showNote(words: string): void {
    let note = this.element.querySelector<HTMLElement>(":scope > [data-stream-note]");
    if (!note && words) {
      note = document.createElement("p");
      note.className = "small soft";
      note.dataset.streamNote = "";
      note.setAttribute("role", "status");
      this.element.prepend(note);
    }
    if (note) note.textContent = words;
  }
}
