/** The places that a click with Shift at `at` covers, where `last` was clicked before (-1: nothing was). */
export function between(last: number, at: number): number[] {
  if (last < 0) return [at];
  const [first, end] = last < at ? [last, at] : [at, last];
  return Array.from({ length: end - first + 1 }, (_, place) => first + place);
}
