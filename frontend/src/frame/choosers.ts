const FILTERS = "form[data-submit-on-change], form.filters";

/** The choosers submit themselves; without JavaScript they have a button. */
export function startChoosers(): void {
  // A browser that goes back puts in what was chosen last, while the page shows what its address says.
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll<HTMLFormElement>(FILTERS)) form.reset();
  });
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-submit-on-change]")) {
    form.addEventListener("change", (event) => {
      const input = event.target as HTMLInputElement;
      if (input.dataset.manual === undefined) form.requestSubmit();
    });
    // Empty fields do not clutter the address.
    form.addEventListener("formdata", (event) => {
      for (const [name, value] of [...event.formData.entries()]) if (value === "") event.formData.delete(name);
    });
  }
}
