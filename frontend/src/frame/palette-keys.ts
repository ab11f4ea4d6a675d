// What keys mean for the palette, the search box and the sheet of shortcuts; nothing here knows of a page.

type Key = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">;

/** What a key opens anywhere on a page; `single`: whether keys without Ctrl or ⌘ count now. */
export function readShortcut(event: Key, single: boolean): "palette" | "search" | "shortcuts" | undefined {
  if (event.ctrlKey || event.metaKey) return event.key.toLowerCase() === "k" ? "palette" : undefined;
  if (event.altKey || !single) return undefined;
  if (event.key === "/") return "search";
  return event.key === "?" ? "shortcuts" : undefined;
}

/**
 * Where a key leads among `count` results from the one at `index`; -1 is the box.
 * Enter in the box opens the first. Without an answer the key keeps its meaning.
 */
export function paletteStep(
  key: string,
  index: number,
  count: number,
): { focus: number } | { open: number } | undefined {
  if (key === "ArrowDown") return { focus: Math.min(index + 1, count - 1) };
  if (key === "ArrowUp") return { focus: Math.max(index - 1, -1) };
  return key === "Enter" && index < 0 && count ? { open: 0 } : undefined;
}
