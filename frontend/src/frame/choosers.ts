const FILTERS = "form[data-submit-on-change], form.filters";

/** The choosers submit themselves; without JavaScript they have a button. */
export function startChoosers(): void {
  // A browser that goes back puts in what was chosen last, while the page shows what its address says.
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll<HTMLFormElement>(FILTERS)) form.reset();
  });
  document.addEventListener("change", (event) => {
    const input = event.target as HTMLInputElement;
    if (input.dataset.manual === undefined && input.form?.matches("[data-submit-on-change]"))
      input.form.requestSubmit();
  });
  // Empty fields do not clutter the address.
  document.addEventListener("formdata", ({ target, formData }) => {
    if (!(target as HTMLFormElement).matches("[data-submit-on-change], [data-as-typed]")) return;
    for (const [name, value] of [...formData.entries()]) if (value === "") formData.delete(name);
  });
}
