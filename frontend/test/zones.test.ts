// Moments in a zone: what an input says and means, and what is pasted into it.
import assert from "node:assert/strict";
import { test } from "node:test";

import { indicesBetween } from "../src/frame/index-range";
import { formatMoment, parseMoment, parsePastedMoment } from "../src/frame/zones";

const parse = (text: string): number => Date.parse(text);

test("what an input says is a moment of its zone", () => {
  assert.equal(parseMoment("2026-11-20T18:00", "UTC"), parse("2026-11-20T18:00Z"));
  assert.equal(parseMoment("2026-11-20T18:00", "Asia/Tokyo"), parse("2026-11-20T09:00Z"));
  assert.equal(parseMoment("2026-07-01T12:00", "Europe/Berlin"), parse("2026-07-01T10:00Z"));
  assert.equal(parseMoment("2026-11-20T05:30", "Asia/Kolkata"), parse("2026-11-20T00:00Z"));
  for (const text of ["", "soon", "2026-11-20T"]) assert.equal(parseMoment(text, "UTC"), undefined);
});

test("a moment said in a zone is that moment again, also around the days on which clocks change", () => {
  for (const zone of ["UTC", "Europe/Berlin", "America/New_York", "Pacific/Chatham"]) {
    for (const day of ["2026-03-08", "2026-03-29", "2026-10-25", "2026-11-01", "2026-04-05"]) {
      for (let hour = 0; hour < 24; hour += 1) {
        const when = parse(`${day}T${String(hour).padStart(2, "0")}:20Z`);
        const parsed = parseMoment(formatMoment(when, zone), zone)!;
        // The hour that passes twice has one name for two moments.
        assert.ok(parsed === when || formatMoment(parsed, zone) === formatMoment(when, zone), `${zone} ${day} ${hour}`);
      }
    }
  }
});

test("ISO 8601 is pasted as the input says it in its zone", () => {
  assert.equal(parsePastedMoment("2026-11-20T09:00:00Z", "Asia/Tokyo"), "2026-11-20T18:00");
  assert.equal(parsePastedMoment(" 2026-11-20T09:00:30.250+0100 ", "UTC"), "2026-11-20T08:00");
  assert.equal(parsePastedMoment("2026-11-20 09:00", "Asia/Tokyo"), "2026-11-20T09:00");
  assert.equal(parsePastedMoment("2026-11-20", "Asia/Tokyo"), "2026-11-20T00:00");
  for (const text of ["yesterday", "2026-11", "09:00", "2026-13-40T09:00Z"])
    assert.equal(parsePastedMoment(text, "UTC"), undefined);
});

test("a click with Shift covers the rows between, in either direction", () => {
  assert.deepEqual(indicesBetween(-1, 4), [4]);
  assert.deepEqual(indicesBetween(2, 4), [2, 3, 4]);
  assert.deepEqual(indicesBetween(4, 2), [2, 3, 4]);
  assert.deepEqual(indicesBetween(3, 3), [3]);
});
