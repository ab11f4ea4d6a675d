// Black or white, whichever is read better on a colour: one of the two always has a contrast of 4.5 to 1 or more.
const EQUAL_CONTRAST_LUMINANCE = 0.179; // the luminance on which both are read equally well

/** The ink for the place `share`, from 0 to 1, of a scale of colours such as "#00224e". */
export function ink(colours: string[], share: number): string {
  const place = Math.min(Math.max(share, 0), 1) * (colours.length - 1);
  const [first, second] = [parseColour(colours[Math.floor(place)]!), parseColour(colours[Math.ceil(place)]!)];
  const rgb = first.map((channel, index) => channel + (second[index]! - channel) * (place % 1));
  return luminance(rgb) > EQUAL_CONTRAST_LUMINANCE ? "#000" : "#fff";
}

/** Red, green and blue, from 0 to 1. */
function parseColour(colour: string): number[] {
  return [1, 3, 5].map((begin) => parseInt(colour.slice(begin, begin + 2), 16) / 255);
}

/** Relative luminance as WCAG 2 defines it. */
function luminance(rgb: number[]): number {
  const linear = rgb.map((channel) => (channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0]! + 0.7152 * linear[1]! + 0.0722 * linear[2]!;
}
