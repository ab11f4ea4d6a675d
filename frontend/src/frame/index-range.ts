/** The indices that a click with Shift at `current` covers, where `previous` was clicked before (-1: nothing was). */
export function indicesBetween(previous: number, current: number): number[] {
  if (previous < 0) return [current];
  const [first, end] = previous < current ? [previous, current] : [current, previous];
  return Array.from({ length: end - first + 1 }, (_, place) => first + place);
}
