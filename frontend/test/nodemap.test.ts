// What a map draws: since when each node is there, the outline of cells, and the scale over the range of the data.
import assert from "node:assert/strict";
import { test } from "node:test";

import { outlineCells } from "../src/nodemap-draw";
import { arrangeCells, shortNames } from "../src/nodemap-layout";
import { STEPS, stepClass, valueRange } from "../src/nodemap-scale";
import { firstFrames } from "../src/nodemap-side";

test("a node is there for the first time in its first frame, or never", () => {
  // Three nodes at three times: one that is always there, one that comes and goes, one that never is.
  const states = Uint8Array.from([1, 255, 255, 1, 0, 255, 1, 255, 255]);
  assert.deepEqual([...firstFrames(states, 255, 3)], [0, 1, 3]);
  assert.deepEqual([...firstFrames(Uint8Array.from([]), 255, 0)], []);
});

test("the outline goes around the cells of the given nodes alone, with a gap between neighbours", () => {
  const names = Array.from({ length: 900 }, (_, number) => `node-${number}`);
  const grid = arrangeCells([{ label: "all", nodes: [...names.keys()] }], names, 600, 400);
  assert.equal(outlineCells(grid, []), "");
  const parts = outlineCells(grid, [0, 899]).split("z").filter(Boolean);
  assert.equal(parts.length, 2);
  const tenths = (value: number) => Math.round(value * 10) / 10;
  for (const [place, node] of [0, 899].entries()) {
    const cell = grid.placeOf.get(node)!;
    const [x, y] = [(cell % grid.columns) * grid.cellWidth, Math.floor(cell / grid.columns) * grid.cellHeight];
    assert.ok(parts[place]!.startsWith(`M${tenths(x)} ${tenths(y)}h${tenths(grid.cellWidth - 1)}v`), parts[place]);
  }
});

test("a border inside of a cell that is one pixel wide has no negative width", () => {
  const names = Array.from({ length: 5000 }, (_, number) => `node-${number}`);
  const grid = { ...arrangeCells([{ label: "all", nodes: [...names.keys()] }], names, 600, 400), cellWidth: 1 };
  assert.doesNotMatch(outlineCells(grid, [0, 7], 1), /--/);
});

const PERCENT = { name: "cpu", label: "CPU requested", unit: "%", verb: "requested", what: "CPU" };

test("the scale runs over the range of the data, to the next five percent", () => {
  assert.deepEqual(valueRange(PERCENT, 12, 53), { least: 10, most: 55 });
  assert.deepEqual(valueRange(PERCENT, 40, 40), { least: 40, most: 45 });
  assert.deepEqual(valueRange(PERCENT, Infinity, -Infinity), { least: 0, most: 100 });
  assert.deepEqual(valueRange(PERCENT, 12, 340), { least: 10, most: 100, isOpenEnded: true });
  assert.deepEqual(valueRange({ ...PERCENT, unit: "pods" }, 3, 17), { least: 3, most: 17 });
});

test("the least value has the first step, the largest the last, and each step is met", () => {
  const range = { least: 10, most: 55 };
  assert.equal(stepClass(10, range), "m0");
  assert.equal(stepClass(55, range), `m${STEPS - 1}`);
  const steps = new Set(Array.from({ length: 46 }, (_, place) => stepClass(10 + place, range)));
  assert.equal(steps.size, STEPS);
});

test("names lose the domain that all of them share, and nothing else", () => {
  assert.deepEqual(shortNames(["ip-1.eu.internal", "ip-2.eu.internal"]), ["ip-1", "ip-2"]);
  assert.deepEqual(shortNames(["a.eu", "b.us"]), ["a.eu", "b.us"]);
  assert.deepEqual(shortNames(["a", "b"]), ["a", "b"]);
  assert.deepEqual(shortNames([]), []);
});
