// Where the player's time goes, in seconds of the run; nothing here knows of a page.
import { last } from "./columns";

const LONGEST_FRAME = 0.1; // seconds: a page that was hidden goes on where it stood
const EXACT = 1e-6;

export type Command = { do: "toggle" } | { do: "step" | "faster"; by: number };

export function clamp(time: number, end: number): number {
  return Math.min(Math.max(time, 0), end);
}

/** `by` changes on, or back; from between two changes one back is the one before. By hundredths without changes. */
export function stepped(changes: number[], time: number, end: number, by: number): number {
  if (!changes.length) return clamp(time + (by * end) / 100, end);
  const place = last(changes, time);
  if (by > 0 && place === changes.length - 1) return end;
  const between = changes[place]! < time - EXACT;
  return changes[clamp(place + by + (between && by < 0 ? 1 : 0), changes.length - 1)]!;
}

/** After a frame of `passed` ms, where the whole run takes `whole` seconds to play. */
export function played(time: number, end: number, passed: number, whole: number): number {
  return clamp(time + Math.min(passed / 1000, LONGEST_FRAME) * (end / whole), end);
}

type Key = Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "metaKey" | "altKey">;

/** What a key asks for; space and arrows only where the scrubber has the focus (`seeking`). */
export function command(event: Key, seeking: boolean): Command | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
  if (event.key === "<" || event.key === ">") return { do: "faster", by: event.key === ">" ? 1 : -1 };
  if (!seeking) return undefined;
  if (event.key === " ") return { do: "toggle" };
  const way = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
  return way ? { do: "step", by: event.shiftKey ? 10 * way : way } : undefined;
}
