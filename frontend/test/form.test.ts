import { equal } from "node:assert/strict";
import { test } from "node:test";
import { hasAllWords, undoAction } from "../src/document-form";

const key = (
  name: string,
  modifiers: Partial<Record<"ctrlKey" | "metaKey" | "shiftKey" | "altKey", boolean>> = {},
) => ({
  key: name,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  altKey: false,
  ...modifiers,
});

test("a plugin is found by all words of its name or help, in any order and letters", () => {
  const text = "nodeaffinity matches the pod's node selector";
  equal(hasAllWords(text, ""), true);
  equal(hasAllWords(text, "  "), true);
  equal(hasAllWords(text, "AFFINITY"), true);
  equal(hasAllWords(text, "selector node"), true);
  equal(hasAllWords(text, "selector taint"), false);
});

test("undo and redo have the keys of editors", () => {
  equal(undoAction(key("z", { ctrlKey: true })), "undo");
  equal(undoAction(key("z", { metaKey: true })), "undo");
  equal(undoAction(key("Z", { ctrlKey: true, shiftKey: true })), "redo");
  equal(undoAction(key("y", { ctrlKey: true })), "redo");
  equal(undoAction(key("z")), undefined);
  equal(undoAction(key("z", { ctrlKey: true, altKey: true })), undefined);
  equal(undoAction(key("k", { ctrlKey: true })), undefined);
});
