// Moments in a zone, as inputs for a date and a time say them; nothing here knows of a page.

/** The offset of `zone` from UTC at `moment`, in milliseconds. */
function zoneOffset(zone: string, moment: number): number {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }).formatToParts(moment);
  const part = (type: string): number => Number(parts.find((candidate) => candidate.type === type)?.value);
  const local = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
  return local - Math.floor(moment / 1000) * 1000;
}

/** Milliseconds of what an input says ("2026-11-20T18:00") in `zone`; `undefined` where it says nothing. */
export function parseMoment(text: string, zone: string): number | undefined {
  const plain = Date.parse(`${text}Z`);
  if (Number.isNaN(plain)) return undefined;
  const first = plain - zoneOffset(zone, plain);
  return plain - zoneOffset(zone, first); // once more, since the clock may have changed in between
}

/** What an input says of `moment` in `zone`. */
export function formatMoment(moment: number, zone: string): string {
  return new Date(moment + zoneOffset(zone, moment)).toISOString().slice(0, 16);
}

/** What somebody pasted, in the words of an input in `zone`: ISO 8601, in `zone` where it has no offset. */
export function parsePastedMoment(text: string, zone: string): string | undefined {
  const match = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:[.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?$/i.exec(text.trim());
  if (!match) return undefined;
  const [, day, time = "00:00", seconds = "", zoned] = match;
  if (!zoned) return `${day}T${time}`;
  const colon = zoned.length === 5 ? `${zoned.slice(0, 3)}:${zoned.slice(3)}` : zoned.toUpperCase();
  const instant = Date.parse(`${day}T${time}${seconds.replace(",", ".")}${colon}`);
  return Number.isNaN(instant) ? undefined : formatMoment(instant, zone);
}
