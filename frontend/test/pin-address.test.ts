// The address that "Copy link" copies.
import assert from "node:assert/strict";
import { test } from "node:test";

import { pinAddress } from "../src/frame/pin-address";

test("it names what the page shows, and keeps the rest", () => {
  const address = "https://site.example/decision/demo/ml/notebook/?policy=old&node=gpu-a1#why";
  assert.equal(
    pinAddress(address, "policy=packing&revision=4&snapshot=s1"),
    "https://site.example/decision/demo/ml/notebook/?policy=packing&node=gpu-a1&revision=4&snapshot=s1#why",
  );
});

test("a page that always shows the same keeps its address", () => {
  const address = "https://site.example/runs/7/?at=60&show=memory";
  assert.equal(pinAddress(address), address);
});
