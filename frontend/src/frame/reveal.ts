/** Opens what the fragment of the address names where it lies in closed details, as a browser does that knows how to. */
export function startReveals(): void {
  revealTarget();
  addEventListener("hashchange", revealTarget);
}

function revealTarget(): void {
  const target = document.getElementById(fragmentOf(location.hash));
  const around = ancestorDetails(target).filter((details) => !details.open);
  for (const details of around) details.open = true;
  if (around.length) target?.scrollIntoView();
}

/** The id that a fragment names; one that cannot be decoded names none. */
function fragmentOf(hash: string): string {
  try {
    return decodeURIComponent(hash.slice(1));
  } catch {
    return "";
  }
}

function ancestorDetails(element: Element | null): HTMLDetailsElement[] {
  const details = element?.closest("details");
  return details ? [details, ...ancestorDetails(details.parentElement)] : [];
}
