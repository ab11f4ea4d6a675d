// Durations and ages, as the server writes them.
import assert from "node:assert/strict";
import { test } from "node:test";

import { formatAgo, formatDuration } from "../src/duration-words";

test("a duration has at most two units", () => {
  const cases: [number, string][] = [
    [0, "0 s"],
    [0.0005, "under 1 ms"],
    [0.25, "250 ms"],
    [2.5, "2.5 s"],
    [59.9, "59 s"],
    [245, "4 min 5 s"],
    [3600, "1 h"],
    [93600, "1 day 2 h"],
  ];
  for (const [seconds, text] of cases) assert.equal(formatDuration(seconds), text);
});

test("an age has one unit", () => {
  const cases: [number, boolean, string][] = [
    [3, false, "just now"],
    [3, true, "3 s ago"],
    [59, false, "59 s ago"],
    [61, false, "1 min ago"],
    [7200, false, "2 h ago"],
    [3 * 86400, false, "3 days ago"],
  ];
  for (const [seconds, exact, text] of cases) assert.equal(formatAgo(seconds, exact), text);
});
