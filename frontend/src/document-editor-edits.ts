// Places and changes in a text; nothing here knows of a page.
import type { Text } from "@codemirror/state";

export interface Finding {
  line: number;
  column: number;
  endColumn: number;
  message: string;
}

/** The least that makes `text` of `old`, so that the cursor and the history stay where they are. */
export function minimalEdit(old: string, text: string): { from: number; to: number; insert: string } | undefined {
  if (old === text) return undefined;
  const shorter = Math.min(old.length, text.length);
  let start = 0;
  while (start < shorter && old[start] === text[start]) start++;
  let end = 0;
  while (end < shorter - start && old[old.length - 1 - end] === text[text.length - 1 - end]) end++;
  return { from: start, to: old.length - end, insert: text.slice(start, text.length - end) };
}

/** The position of a line and column, counted from 1; what lies outside is at the nearest edge. */
export function positionAt(doc: Text, line: number, column: number): number {
  const place = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(place.from + column - 1, place.to);
}

/** The address of a schema for `release`; as it is where the document is of none. */
export function schemaAddress(address: string, release: string | undefined): string {
  if (release === undefined) return address;
  const [path = "", query = ""] = address.split("?");
  const parameters = new URLSearchParams(query);
  parameters.set("release", release);
  return `${path}?${parameters}`;
}

/** What of the text is marked for a finding: its columns, or the rest of its line. */
export function markedRange(doc: Text, finding: Finding): { from: number; to: number } {
  const from = positionAt(doc, finding.line, finding.column);
  const ends = finding.endColumn > finding.column;
  const to = ends ? positionAt(doc, finding.line, finding.endColumn) : doc.lineAt(from).to;
  return { from, to: Math.max(from, to) };
}
