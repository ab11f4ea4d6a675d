/** Switches the theme at once and keeps it in the cookie from which the server renders the next page. */
export function startTheme(): void {
  document.addEventListener("click", (event) => {
    const button = (event.target as Element).closest<HTMLButtonElement>("form.theme button[name=theme]");
    if (!button) return;
    event.preventDefault();
    const theme = button.value;
    const secure = location.protocol === "https:" ? ";secure" : "";
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is there over https only.
    document.cookie = `theme=${theme};path=/;max-age=31536000;samesite=lax${secure}`;
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    for (const button of document.querySelectorAll<HTMLButtonElement>("form.theme button[aria-pressed]")) {
      button.setAttribute("aria-pressed", String(button.value === theme));
    }
    document.dispatchEvent(new CustomEvent("themechange"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    document.dispatchEvent(new CustomEvent("themechange"));
  });
}
