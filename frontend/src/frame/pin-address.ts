/** The address with the parameters of the query `pins`, so that it goes on showing what it shows now. */
export function pinAddress(address: string, pins = ""): string {
  const url = new URL(address);
  for (const [name, value] of new URLSearchParams(pins)) url.searchParams.set(name, value);
  return url.href;
}
