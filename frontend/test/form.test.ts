import { equal } from "node:assert/strict";
import { test } from "node:test";
import { matches, undoes } from "../src/document-form";

const key = (name: string, held: Partial<Record<"ctrlKey" | "metaKey" | "shiftKey" | "altKey", boolean>> = {}) => ({
  key: name,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  altKey: false,
  ...held,
});

test("a plugin is found by all words of its name or help, in any order and letters", () => {
  const text = "nodeaffinity matches the pod's node selector";
  equal(matches(text, ""), true);
  equal(matches(text, "  "), true);
  equal(matches(text, "AFFINITY"), true);
  equal(matches(text, "selector node"), true);
  equal(matches(text, "selector taint"), false);
});

test("undo and redo have the keys of editors", () => {
  equal(undoes(key("z", { ctrlKey: true })), "undo");
  equal(undoes(key("z", { metaKey: true })), "undo");
  equal(undoes(key("Z", { ctrlKey: true, shiftKey: true })), "redo");
  equal(undoes(key("y", { ctrlKey: true })), "redo");
  equal(undoes(key("z")), undefined);
  equal(undoes(key("z", { ctrlKey: true, altKey: true })), undefined);
  equal(undoes(key("k", { ctrlKey: true })), undefined);
});
