/** Durations and ages in words, in the language of the page: the same as kschedweb/web/durations.py writes. */

import { translate, translateCount } from "./words";

const MINUTE = 60; // seconds
const HOUR = 3600;
const DAY = 86_400;

/** "1 day 2 h", "3 h 20 min", "4 min 5 s", "2.5 s", "3 ms": two units are enough. */
export function formatDuration(seconds: number): string {
  if (seconds > 0 && seconds < 0.9995)
    return seconds >= 0.001
      ? translate("%(number)s ms", { number: (seconds * 1000).toFixed(0) })
      : translate("under 1 ms");
  if (seconds < MINUTE)
    return translate("%(number)s s", {
      number: seconds < 10 ? Number(seconds.toFixed(1)) : Math.min(Math.round(seconds), 59),
    });
  const whole = Math.floor(seconds);
  const days = Math.floor(whole / DAY);
  const hours = Math.floor(whole / HOUR) % 24;
  const minutes = Math.floor(whole / MINUTE) % 60;
  const parts: [number, string][] = [
    [days, translateCount("%(number)s day", "%(number)s days", days, { number: days })],
    [hours, translate("%(number)s h", { number: hours })],
    [minutes, translate("%(number)s min", { number: minutes })],
    [whole % MINUTE, translate("%(number)s s", { number: whole % MINUTE })],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  const [[, largest] = [0, ""], [count, rest] = [0, ""]] = parts.slice(first, first + 2);
  return count > 0 ? translate("%(whole)s %(rest)s", { whole: largest, rest }) : largest;
}

/** "just now" ("4 s ago" if `exact`), "4 min ago", "3 h ago", "2 days ago". */
export function formatAgo(seconds: number, exact: boolean): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 10 && !exact) return translate("just now");
  if (whole < MINUTE) return translate("%(number)s s ago", { number: whole });
  if (whole < HOUR) return translate("%(number)s min ago", { number: Math.floor(whole / MINUTE) });
  if (whole < 2 * DAY) return translate("%(number)s h ago", { number: Math.floor(whole / HOUR) });
  return translate("%(number)s days ago", { number: Math.floor(whole / DAY) });
}
