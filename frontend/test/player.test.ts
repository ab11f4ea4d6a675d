// The player's time: steps from change to change, frames, and what keys ask for.
import assert from "node:assert/strict";
import { test } from "node:test";

import { clamp, nextChangeTime, readCommand, timeAfterFrame } from "../src/player-time";

const CHANGES = [0, 10, 25, 60];
const END = 100;
const plain = { shiftKey: false, ctrlKey: false, metaKey: false, altKey: false };

test("a step goes to the next change or to the one before", () => {
  const cases: [number, number, number][] = [
    [0, 1, 10],
    [10, 1, 25],
    [12, 1, 25],
    [10, -1, 0],
    [0, -1, 0],
    [12, 2, 60],
    [25, -10, 0],
  ];
  for (const [time, steps, to] of cases)
    assert.equal(nextChangeTime(CHANGES, time, END, steps), to, `${steps} from ${time}`);
});

test("back from between two changes is the one just before", () => {
  assert.equal(nextChangeTime(CHANGES, 12, END, -1), 10);
  assert.equal(nextChangeTime(CHANGES, 99, END, -1), 60);
  assert.equal(nextChangeTime(CHANGES, 10 + 1e-9, END, -1), 0, "as good as at the change");
});

test("after the last change the end comes, and several steps stop at the last change", () => {
  assert.equal(nextChangeTime(CHANGES, 60, END, 1), END);
  assert.equal(nextChangeTime(CHANGES, 75, END, 1), END);
  assert.equal(nextChangeTime(CHANGES, 25, END, 10), 60);
});

test("without changes a step is a hundredth, within the run", () => {
  assert.equal(nextChangeTime([], 50, 200, 1), 52);
  assert.equal(nextChangeTime([], 50, 200, -10), 30);
  assert.equal(nextChangeTime([], 1, 200, -10), 0);
  assert.equal(nextChangeTime([], 199, 200, 10), 200);
});

test("a frame moves on by its share of the time that the whole run takes", () => {
  assert.equal(timeAfterFrame(0, 1000, 50, 20), 2.5);
  assert.equal(timeAfterFrame(999, 1000, 50, 20), 1000, "the end is not passed");
  assert.equal(timeAfterFrame(0, 1000, 60_000, 20), 5, "a page that was hidden goes on where it stood");
  assert.equal(clamp(-3, 10), 0);
});

test("keys: arrows and space on the scrubber, < and > anywhere, none with Ctrl, Alt or ⌘", () => {
  assert.deepEqual(readCommand({ ...plain, key: "ArrowLeft" }, true), { do: "step", steps: -1 });
  assert.deepEqual(readCommand({ ...plain, key: "ArrowRight", shiftKey: true }, true), { do: "step", steps: 10 });
  assert.deepEqual(readCommand({ ...plain, key: " " }, true), { do: "toggle" });
  assert.deepEqual(readCommand({ ...plain, key: ">", shiftKey: true }, false), { do: "faster", steps: 1 });
  assert.deepEqual(readCommand({ ...plain, key: "<" }, true), { do: "faster", steps: -1 });
  for (const key of [" ", "ArrowLeft", "ArrowRight"]) assert.equal(readCommand({ ...plain, key }, false), undefined);
  assert.equal(readCommand({ ...plain, key: "Tab" }, true), undefined);
  for (const modifier of ["ctrlKey", "metaKey", "altKey"])
    assert.equal(readCommand({ ...plain, key: "ArrowLeft", [modifier]: true }, true), undefined, modifier);
});
