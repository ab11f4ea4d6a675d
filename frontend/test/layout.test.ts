// The node map's layout: every node has a cell of its own within the width, whatever the groups.
import assert from "node:assert/strict";
import { test } from "node:test";

import { arrangeCells, type Group, labelAt, neighbourCell, placeAt } from "../src/nodemap-layout";

const names = Array.from({ length: 5000 }, (_, node) => `node-${node}`);

function groups(...sizes: number[]): Group[] {
  let next = 0;
  return sizes.map((size, place) => ({ label: `group-${place}`, nodes: Array.from({ length: size }, () => next++) }));
}

const CASES: [string, Group[], number][] = [
  ["one node", groups(1), 300],
  ["a few nodes with room for their names", groups(3, 9), 1200],
  ["three zones", groups(500, 520, 480), 1200],
  ["one large group beside small ones", groups(4000, 3, 1, 40), 900],
  ["as many groups as nodes", groups(...Array.from({ length: 60 }, () => 1)), 600],
  ["5,000 nodes on a phone", groups(2500, 2500), 330],
];

for (const [description, groups, width] of CASES) {
  test(`${description}: each node has one cell, inside its group's block`, () => {
    const grid = arrangeCells(groups, names, width, 700);
    const nodes = groups.flatMap((group) => group.nodes);
    assert.equal(grid.placeOf.size, nodes.length);
    assert.equal(grid.cells.filter((node) => node >= 0).length, nodes.length);
    for (const [index, group] of groups.entries()) {
      const block = grid.blocks[index]!;
      for (const node of group.nodes) {
        const cell = grid.placeOf.get(node)!;
        assert.equal(grid.cells[cell], node);
        const [row, column] = [Math.floor(cell / grid.columns), cell % grid.columns];
        assert.ok(row >= block.row && row < block.row + block.height, `row of node ${node}`);
        assert.ok(column >= block.column && column < block.column + block.width, `column of node ${node}`);
      }
    }
    assert.ok(grid.columns * grid.cellWidth <= width + 1, "it stays within the width");
  });
}

test("names are shown where there is room for them", () => {
  assert.equal(arrangeCells(groups(12), names, 1200, 700).hasNames, true);
  assert.equal(arrangeCells(groups(3000), names, 1200, 700).hasNames, false);
});

test("the arrow keys go from node to node and stop at the ends", () => {
  const grid = arrangeCells(groups(10), names, 5 * 120, 700);
  const first = grid.placeOf.get(0)!;
  assert.equal(grid.cells[neighbourCell(grid, first, 1, 0)], 1);
  assert.equal(neighbourCell(grid, first, -1, 0), first);
  assert.equal(neighbourCell(grid, first, 0, -1), first);
  let cell = first;
  for (let step = 0; step < 20; step += 1) cell = neighbourCell(grid, cell, 1, 0);
  assert.equal(grid.cells[cell], 9);
});

test("a place on the map is the node whose cell is there, or none", () => {
  const grid = arrangeCells(groups(500, 520), names, 1200, 700);
  for (const node of [0, 499, 500, 1019]) {
    const cell = grid.placeOf.get(node)!;
    const [column, row] = [cell % grid.columns, Math.floor(cell / grid.columns)];
    const middle = placeAt(grid, (column + 0.5) * grid.cellWidth, (row + 0.5) * grid.cellHeight);
    assert.deepEqual(middle, { node, column, row });
  }
  assert.equal(placeAt(grid, -1, 5).node, -1);
  assert.equal(placeAt(grid, 5, grid.rows * grid.cellHeight + 1).node, -1);
});

test("the label of a group stands above its block", () => {
  const grid = arrangeCells(groups(500, 520), names, 1200, 700);
  for (const block of grid.blocks) {
    const place = { node: -1, column: block.column, row: block.row - 1 };
    assert.equal(labelAt(grid, place), block.label);
    assert.equal(labelAt(grid, { ...place, row: block.row }), undefined, "inside the block");
    assert.notEqual(labelAt(grid, { ...place, column: block.column + block.width }), block.label);
  }
});
