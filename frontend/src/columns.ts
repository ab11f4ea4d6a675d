// Columns as REST gives them, and how amounts are written.

/** Whole numbers as base64, little-endian; the largest that `bytes` can hold stands for nothing. */
export type Column = { bytes: 1 | 2; values: string };
export type Numbers = { data: Uint8Array | Uint16Array; absent: number };

export function unpackColumn(column: Column): Numbers {
  const bytes = Uint8Array.from(atob(column.values), (character) => character.charCodeAt(0));
  if (column.bytes === 1) return { data: bytes, absent: 255 };
  const view = new DataView(bytes.buffer);
  return {
    data: Uint16Array.from({ length: bytes.length / 2 }, (_, place) => view.getUint16(2 * place, true)),
    absent: 65535,
  };
}

/** The index of the last of `times` (ascending) that is not after `time`; 0 where there is none. */
export function lastIndexUntil(times: number[], time: number): number {
  let low = 0;
  for (let high = times.length - 1; low < high; ) {
    const middle = (low + high + 1) >> 1;
    if ((times[middle] ?? Infinity) <= time + 1e-6) low = middle;
    else high = middle - 1;
  }
  return low;
}

// Kept: to make one takes as long as to write many numbers.
const FORMAT = new Intl.NumberFormat("en-US");

export function formatNumber(value: number): string {
  return FORMAT.format(value);
}

/** An element with a class and a text. */
export function createElement<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className = "",
  text = "",
): HTMLElementTagNameMap[Name] {
  const htmlElement = document.createElement(name);
  if (className) htmlElement.className = className;
  if (text) htmlElement.textContent = text;
  return htmlElement;
}

/** The colour that the theme gives to `.probe-<name>`: light-dark() is only resolved in a used value. */
export function themeColour(name: string): string {
  const probe = createElement("i", `probe-${name}`);
  probe.hidden = true;
  document.body.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

/** Changes what the address says without a new page; an empty value goes away. */
export function updateAddress(changes: Record<string, string>): void {
  const address = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
  }
  history.replaceState(history.state, "", address);
}
