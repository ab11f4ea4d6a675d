// A grid: how arrow keys walk its cells, some of which are several columns wide.
import assert from "node:assert/strict";
import { test } from "node:test";

import { type CellPosition, nextPosition } from "../src/frame/grid-keys";

// A head of four columns, a row of nodes, a rejected node whose reason is three columns wide.
const spans = [
  [1, 1, 1, 1],
  [1, 1, 1, 1],
  [1, 3],
];

function walk(from: CellPosition, ...keys: string[]): CellPosition {
  return keys.reduce((position, key) => {
    const ctrlKey = key.startsWith("Ctrl+");
    return nextPosition({ key: key.replace("Ctrl+", ""), ctrlKey }, spans, position) ?? position;
  }, from);
}

test("arrows go one cell on and stop at the edges", () => {
  assert.deepEqual(walk({ row: 0, cell: 0 }, "ArrowRight", "ArrowDown"), { row: 1, cell: 1 });
  assert.deepEqual(walk({ row: 0, cell: 0 }, "ArrowLeft", "ArrowUp"), { row: 0, cell: 0 });
  assert.deepEqual(walk({ row: 1, cell: 3 }, "ArrowRight"), { row: 1, cell: 3 });
});

test("up and down keep the column, through a wide cell to where it begins", () => {
  assert.deepEqual(walk({ row: 1, cell: 3 }, "ArrowDown"), { row: 2, cell: 1 });
  assert.deepEqual(walk({ row: 2, cell: 1 }, "ArrowUp"), { row: 1, cell: 1 });
  assert.deepEqual(walk({ row: 2, cell: 1 }, "ArrowDown"), { row: 2, cell: 1 });
});

test("Home and End go to the ends of the row, with Ctrl to those of the grid", () => {
  assert.deepEqual(walk({ row: 1, cell: 2 }, "Home"), { row: 1, cell: 0 });
  assert.deepEqual(walk({ row: 1, cell: 0 }, "End"), { row: 1, cell: 3 });
  assert.deepEqual(walk({ row: 1, cell: 2 }, "Ctrl+Home"), { row: 0, cell: 0 });
  assert.deepEqual(walk({ row: 0, cell: 0 }, "Ctrl+End"), { row: 2, cell: 1 });
});

test("Page Down and Page Up go many rows and stay in the grid", () => {
  assert.deepEqual(walk({ row: 0, cell: 1 }, "PageDown"), { row: 2, cell: 1 });
  assert.deepEqual(walk({ row: 2, cell: 0 }, "PageUp"), { row: 0, cell: 0 });
});

test("other keys, and arrows with Ctrl, keep their meaning", () => {
  assert.equal(nextPosition({ key: "a", ctrlKey: false }, spans, { row: 0, cell: 0 }), undefined);
  assert.equal(nextPosition({ key: "ArrowDown", ctrlKey: true }, spans, { row: 0, cell: 0 }), undefined);
});
