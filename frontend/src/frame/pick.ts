/** A list of things to tick shows those whose words hold what is searched for, and those that are ticked. */
export function startPicks(): void {
  document.addEventListener("input", (event) => {
    const search = event.target as HTMLInputElement;
    if (search.dataset.pickSearch === undefined) return;
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const line of search.closest("[data-pick]")?.querySelectorAll<HTMLElement>("li") ?? []) {
      const text = line.textContent?.toLowerCase() ?? "";
      const ticked = line.querySelector<HTMLInputElement>("input")?.checked;
      line.hidden = !ticked && !words.every((word) => text.includes(word));
    }
  });
  // Enter in the search looks for something, and does not send the form around it.
  document.addEventListener("keydown", (event) => {
    const search = event.target as HTMLElement;
    if (event.key === "Enter" && search.dataset?.pickSearch !== undefined) event.preventDefault();
  });
}
