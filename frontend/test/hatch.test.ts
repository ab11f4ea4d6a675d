// Nodes that are gone: since when each is there, and the outline of their cells.
import assert from "node:assert/strict";
import { test } from "node:test";

import { firstFrames, outline } from "../src/nodemap-hatch";
import { arrange } from "../src/nodemap-layout";

test("a node is there for the first time in its first frame, or never", () => {
  // Three nodes at three times: one that is always there, one that comes and goes, one that never is.
  const states = Uint8Array.from([1, 255, 255, 1, 0, 255, 1, 255, 255]);
  assert.deepEqual([...firstFrames(states, 255, 3)], [0, 1, 3]);
  assert.deepEqual([...firstFrames(Uint8Array.from([]), 255, 0)], []);
});

test("the outline goes around the cells of the nodes that are gone alone", () => {
  const names = Array.from({ length: 900 }, (_, number) => `node-${number}`);
  const grid = arrange([{ label: "all", nodes: [...names.keys()] }], names, 600, 400);
  assert.equal(outline(grid, new Uint8Array(900)), "");
  const goneNodes = Uint8Array.from(names, (_, node) => Number(node === 0 || node === 899));
  const parts = outline(grid, goneNodes).split("z").filter(Boolean);
  assert.equal(parts.length, 2);
  for (const [place, node] of [0, 899].entries()) {
    const cell = grid.placeOf.get(node)!;
    const [x, y] = [(cell % grid.columns) * grid.cellWidth, Math.floor(cell / grid.columns) * grid.cellHeight];
    assert.ok(parts[place]!.startsWith(`M${x} ${y}h${grid.cellWidth}v`), parts[place]);
  }
});
