/** Parts that ask the server for themselves again: now and then by their own trigger, and at once when a stream says
 * that something changed. Where no stream can be had, the own trigger is all that happens. */

const LEAST = 1000; // milliseconds between two questions, however much happens

export function startStreams(): void {
  for (const element of document.querySelectorAll<HTMLElement>("[data-stream]")) follow(element);
}

function follow(element: HTMLElement): void {
  const source = new EventSource(element.dataset["stream"] ?? "");
  let waiting = 0;
  let last = 0;
  const changed = (): void => {
    if (waiting || document.hidden) return;
    waiting = window.setTimeout(() => {
      waiting = 0;
      last = Date.now();
      // The part is swapped as a whole, so the one of this moment is asked for.
      element.querySelector("[data-refresh]")?.dispatchEvent(new Event("refresh"));
    }, Math.max(0, last + LEAST - Date.now()));
  };
  for (const name of (element.dataset["streamEvents"] ?? "message").split(" ")) source.addEventListener(name, changed);
  document.addEventListener("visibilitychange", changed);
  window.addEventListener("pagehide", () => source.close());
}
