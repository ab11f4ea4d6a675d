/** Gives focus back after htmx swaps, says aloud what changed, and shows that a request failed. */
export function startLive(): void {
  const announce = document.getElementById("announcer");
  document.body.addEventListener("htmx:beforeRequest", (event) => {
    target(event)?.setAttribute("aria-busy", "true");
  });
  document.body.addEventListener("htmx:afterSettle", (event) => {
    const element = target(event);
    element?.removeAttribute("aria-busy");
    const said = element?.querySelector<HTMLElement>("[data-announce]")?.dataset["announce"];
    if (announce && said) announce.textContent = said;
  });
  for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    document.body.addEventListener(failure, (event) => {
      target(event)?.removeAttribute("aria-busy");
      const status = (event as CustomEvent).detail?.xhr?.status;
      if (announce) announce.textContent = status ? `The server answered ${status}. Reload the page.` : "The server does not answer.";
      if (status === 401 || status === 403) location.reload();
    });
  }
  document.addEventListener("click", (event) => {
    const button = (event.target as Element).closest<HTMLElement>("[data-copy]");
    if (button) void navigator.clipboard.writeText(button.dataset["copy"] || location.href).then(() => {
      if (announce) announce.textContent = "Copied";
      button.classList.add("copied");
    });
    for (const menu of document.querySelectorAll<HTMLDetailsElement>("details.menu[open]")) {
      if (!menu.contains(event.target as Node)) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of document.querySelectorAll<HTMLDetailsElement>("details.menu[open]")) {
      menu.open = false;
      menu.querySelector("summary")?.focus();
    }
  });
}

function target(event: Event): HTMLElement | null {
  return ((event as CustomEvent).detail?.target as HTMLElement | undefined) ?? null;
}
