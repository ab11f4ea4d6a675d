// What the document editor changes and marks in a text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EditorState, Text } from "@codemirror/state";

import { markedRange, minimalEdit, positionAt, schemaAddress } from "../src/document-editor-edits";

function applyDifference(old: string, text: string): string {
  const changes = minimalEdit(old, text);
  return changes ? EditorState.create({ doc: old }).update({ changes }).state.doc.toString() : old;
}

test("the difference makes the one text of the other", () => {
  const texts = ["", "a", "aa", "aba", "a: 1\nb: 2\n", "a: 1\nb: 3\n", "a: 1\nc: 0\nb: 2\n", "b: 2\n", "ééé🙂", "é🙂"];
  for (const old of texts) for (const text of texts) assert.equal(applyDifference(old, text), text, `${old} → ${text}`);
});

test("the difference is the least, and nothing for equal texts", () => {
  assert.equal(minimalEdit("a: 1\n", "a: 1\n"), undefined);
  assert.deepEqual(minimalEdit("a: 1\nb: 2\n", "a: 1\nb: 3\n"), { from: 8, to: 9, insert: "3" });
  assert.deepEqual(minimalEdit("aa", "aaa"), { from: 2, to: 2, insert: "a" }, "the ends do not overlap");
  assert.deepEqual(minimalEdit("aaa", "a"), { from: 1, to: 3, insert: "" });
});

test("the cursor stays where it is when the text changes elsewhere", () => {
  const old = "a: 1\nb: 2\nc: 3\n";
  const state = EditorState.create({ doc: old, selection: { anchor: 11 } });
  const changes = minimalEdit(old, "a: 100\nb: 2\nc: 3\n")!;
  assert.equal(state.update({ changes }).state.selection.main.anchor, 13);
});

test("lines and columns count from 1, and what lies outside is at the edge", () => {
  const doc = Text.of(["kind: Pod", "", "spec: {}"]);
  assert.equal(positionAt(doc, 1, 1), 0);
  assert.equal(positionAt(doc, 3, 7), 17);
  assert.equal(positionAt(doc, 2, 9), 10, "no further than the line's end");
  assert.equal(positionAt(doc, 0, 1), 0);
  assert.equal(positionAt(doc, 99, 1), 11, "the last line");
});

test("a finding marks its columns, or the rest of its line", () => {
  const doc = Text.of(["kind: Pod", "spec: {}"]);
  const finding = { line: 1, column: 7, endColumn: 0, message: "" };
  assert.deepEqual(markedRange(doc, finding), { from: 6, to: 9 });
  assert.deepEqual(markedRange(doc, { ...finding, endColumn: 8 }), { from: 6, to: 7 });
  assert.deepEqual(markedRange(doc, { ...finding, endColumn: 80 }), { from: 6, to: 9 });
  assert.deepEqual(markedRange(doc, { ...finding, line: 99, column: 50 }), { from: 18, to: 18 });
});

test("the schema is that of the release which is chosen now", () => {
  assert.equal(schemaAddress("/policy-schema/?release=1.36", "1.34"), "/policy-schema/?release=1.34");
  assert.equal(schemaAddress("/policy-schema/?release=1.36", ""), "/policy-schema/?release=");
  assert.equal(schemaAddress("/policy-schema/?kind=profiles", "1.34"), "/policy-schema/?kind=profiles&release=1.34");
  assert.equal(schemaAddress("/scenario-schema/", undefined), "/scenario-schema/");
});
