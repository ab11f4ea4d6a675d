// Columns as REST gives them, and sentences, as the server says them.
import assert from "node:assert/strict";
import { test } from "node:test";

import { formatNumber, lastIndexUntil, unpackColumn } from "../src/columns";
import { Grouping, groupsOf } from "../src/nodemap-groups";
import { type Colouring, describeNode, describeNodes, groupHead, groupRow } from "../src/nodemap-words";

const base64 = (...bytes: number[]) => btoa(String.fromCharCode(...bytes));
const CPU: Colouring = { name: "cpu", label: "CPU requested", unit: "%", verb: "requested", what: "CPU" };

test("a column of one or two bytes a number is unpacked, little end first", () => {
  assert.deepEqual([...unpackColumn({ bytes: 1, values: base64(1, 2, 255) }).data], [1, 2, 255]);
  const twoByteNumbers = unpackColumn({ bytes: 2, values: base64(1, 0, 0, 1, 255, 255) });
  assert.deepEqual([...twoByteNumbers.data], [1, 256, 65535]);
  assert.equal(twoByteNumbers.absent, 65535);
});

test("the last time that is not after another one is found", () => {
  const times = [0, 10, 20, 30];
  for (const [time, place] of [
    [-5, 0],
    [0, 0],
    [9.9, 0],
    [10, 1],
    [29, 2],
    [99, 3],
  ] as const) {
    assert.equal(lastIndexUntil(times, time), place, `at ${time}`);
  }
});

test("large numbers are grouped", () => assert.equal(formatNumber(1234567), "1,234,567"));

test("nodes are in the groups that their labels say at a time", () => {
  const grouping = new Grouping({
    label: "zone",
    values: ["a", "b"],
    codes: { bytes: 1, values: base64(0, 1, 255) },
    shifts: { times: [5, 8], nodes: { bytes: 1, values: base64(0, 2) }, codes: { bytes: 1, values: base64(1, 0) } },
  });
  assert.deepEqual(grouping.valuesAt(0), ["a", "b", ""]);
  assert.deepEqual(grouping.valuesAt(5), ["b", "b", ""]);
  assert.deepEqual(grouping.valuesAt(9), ["b", "b", "a"]);
  const groups = groupsOf([["z10", "z2", ""]], "zone", [2, 0, 1]);
  assert.deepEqual(
    groups.map((group) => group.label),
    ["no zone", "z2", "z10"],
  );
});

test("a map says in one sentence what it shows", () => {
  const values = { values: [50, 70, NaN], pods: [3, 0, 0] };
  const text = "CPU of 2 nodes: 60 % requested on average, 70 % on the fullest; 1 node without a pod.";
  assert.equal(describeNodes(CPU, [], values, undefined), text);
  assert.equal(describeNodes(CPU, [], values, 90), `After 1 min 30 s, ${text}`);
  assert.equal(describeNode(CPU, [], NaN), "CPU requested unknown");
  assert.equal(groupHead(CPU, [], "zone").length, groupRow(CPU, [], values, [0, 1]).length + 1);
});
