/** The address with the parameters of the query `pins`, so that it goes on showing what it shows now, and an anchor. */
export function pinAddress(address: string, pins = "", anchor = ""): string {
  const url = new URL(address);
  if (anchor) url.hash = anchor;
  for (const [name, value] of new URLSearchParams(pins)) url.searchParams.set(name, value);
  return url.href;
}
