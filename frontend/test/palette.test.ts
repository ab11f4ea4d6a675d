// The palette: which keys open what, and how the arrows walk its results.
import assert from "node:assert/strict";
import { test } from "node:test";

import { paletteStep, readShortcut } from "../src/frame/palette-keys";

const plain = { ctrlKey: false, metaKey: false, altKey: false };

test("Ctrl or ⌘ with K opens the palette, even while typing", () => {
  assert.equal(readShortcut({ ...plain, key: "k", ctrlKey: true }, false), "palette");
  assert.equal(readShortcut({ ...plain, key: "K", metaKey: true }, false), "palette");
  assert.equal(readShortcut({ ...plain, key: "k" }, true), undefined);
  assert.equal(readShortcut({ ...plain, key: "/", ctrlKey: true }, true), undefined);
});

test("single keys open the search and the sheet where they count", () => {
  assert.equal(readShortcut({ ...plain, key: "/" }, true), "search");
  assert.equal(readShortcut({ ...plain, key: "?" }, true), "shortcuts");
  for (const key of ["/", "?"]) {
    assert.equal(readShortcut({ ...plain, key }, false), undefined, "while typing, or silenced");
    assert.equal(readShortcut({ ...plain, key, altKey: true }, true), undefined);
  }
});

test("arrows walk from the box through the results and back, and stop at both ends", () => {
  const downs = [-1, 0, 1, 2].map((index) => paletteStep("ArrowDown", index, 3));
  assert.deepEqual(downs, [{ focus: 0 }, { focus: 1 }, { focus: 2 }, { focus: 2 }]);
  const ups = [2, 1, 0, -1].map((index) => paletteStep("ArrowUp", index, 3));
  assert.deepEqual(ups, [{ focus: 1 }, { focus: 0 }, { focus: -1 }, { focus: -1 }]);
  assert.deepEqual(paletteStep("ArrowDown", -1, 0), { focus: -1 }, "no result: the box");
});

test("Enter in the box opens the first result; on a result it is the link's own", () => {
  assert.deepEqual(paletteStep("Enter", -1, 3), { open: 0 });
  assert.equal(paletteStep("Enter", -1, 0), undefined);
  assert.equal(paletteStep("Enter", 1, 3), undefined);
  assert.equal(paletteStep("a", -1, 3), undefined);
});
