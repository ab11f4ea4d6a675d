// Where the player's time goes, in seconds of the run; nothing here knows of a page.
import { lastIndexUntil } from "./columns";

const LONGEST_FRAME = 0.1; // seconds: a page that was hidden goes on where it stood
const EXACT = 1e-6;

export type Command = { do: "toggle" } | { do: "step" | "faster"; steps: number };

export function clamp(time: number, end: number): number {
  return Math.min(Math.max(time, 0), end);
}

/** The time `steps` changes on, or back; between two changes, one back is the earlier. By hundredths without changes. */
export function nextChangeTime(changes: number[], time: number, end: number, steps: number): number {
  if (!changes.length) return clamp(time + (steps * end) / 100, end);
  const place = lastIndexUntil(changes, time);
  if (steps > 0 && place === changes.length - 1) return end;
  const between = changes[place]! < time - EXACT;
  return changes[clamp(place + steps + (between && steps < 0 ? 1 : 0), changes.length - 1)]!;
}

/** The time after a frame of `elapsed` ms, where the whole run takes `duration` seconds to play. */
export function timeAfterFrame(time: number, end: number, elapsed: number, duration: number): number {
  return clamp(time + Math.min(elapsed / 1000, LONGEST_FRAME) * (end / duration), end);
}

type Key = Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "metaKey" | "altKey">;

/** What a key asks for; space and arrows only where the scrubber has the focus (`seeking`). */
export function readCommand(event: Key, seeking: boolean): Command | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
  if (event.key === "<" || event.key === ">") return { do: "faster", steps: event.key === ">" ? 1 : -1 };
  if (!seeking) return undefined;
  if (event.key === " ") return { do: "toggle" };
  const direction = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
  return direction ? { do: "step", steps: event.shiftKey ? 10 * direction : direction } : undefined;
}
