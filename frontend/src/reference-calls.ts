// Calls of the REST API as the page of its operations writes them.

/** Whether `text` holds all words of `search`, whatever their case. */
export function hasAllWords(text: string, search: string): boolean {
  const haystack = text.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => haystack.includes(word));
}

/** The address of a call: `path` with its places filled in, and what is asked. Places and questions left empty go. */
export function callAddress(path: string, places: [string, string][], parameters: [string, string][]): string {
  let filledPath = path;
  for (const [name, value] of places) filledPath = filledPath.replace(`{${name}}`, () => encodeURIComponent(value));
  const query = new URLSearchParams(parameters.filter(([, value]) => value)).toString();
  return query ? `${filledPath}?${query}` : filledPath;
}

/** JSON in lines, anything else as it is. */
export function indentJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
