// What a figure is saved as.
import assert from "node:assert/strict";
import { test } from "node:test";

import { formatCsv, tableOfFigure } from "../src/figure-export";

test("cells are quoted where they must be, and none is a formula", () => {
  assert.equal(formatCsv([["a,b", 'say "no"', -1.5, "=1+1", null]]), '"a,b","say ""no""",-1.5,\'=1+1,\r\n');
});

test("lines have a row a point, named by the axes", () => {
  const data = [{ name: "web", x: [0, 60], y: [1, 2] }];
  const layout = { xaxis: { title: { text: "Seconds" } }, yaxis: { title: "Pods" } };
  assert.deepEqual(tableOfFigure(data, layout), [
    ["Line", "Seconds", "Pods"],
    ["web", 0, 1],
    ["web", 60, 2],
  ]);
});

test("a heat map has a row a cell", () => {
  const data = [{ type: "heatmap", x: ["cpu", "memory"], y: ["node-1"], z: [[0.5, null]] }];
  assert.deepEqual(tableOfFigure(data, {}), [
    ["x", "y", "Value"],
    ["cpu", "node-1", 0.5],
    ["memory", "node-1", null],
  ]);
});
