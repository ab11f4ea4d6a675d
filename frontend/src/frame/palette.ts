// Search box, command palette and the sheet of shortcuts.

const KEEP = "shortcuts"; // localStorage: "off" silences the single-key shortcuts (WCAG 2.1.4).

export function startDialogs(): void {
  const palette = document.getElementById("palette") as HTMLDialogElement | null;
  const sheet = document.getElementById("shortcuts") as HTMLDialogElement | null;
  document.addEventListener("click", (event) => {
    const element = event.target as Element;
    if (element.closest("[data-open=palette]")) palette?.showModal();
    if (element.closest("[data-open=shortcuts]")) sheet?.showModal();
    if (element.closest("[data-close]")) element.closest("dialog")?.close();
    if (element instanceof HTMLDialogElement) element.close();
  });
  const single = document.getElementById("single-keys") as HTMLInputElement | null;
  if (single) {
    single.checked = localStorage.getItem(KEEP) !== "off";
    single.addEventListener("change", () => localStorage.setItem(KEEP, single.checked ? "on" : "off"));
  }
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      palette?.showModal();
      palette?.querySelector("input")?.select();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || localStorage.getItem(KEEP) === "off") return;
    if (event.key === "/") {
      event.preventDefault();
      document.querySelector<HTMLInputElement>(".searchbox")?.focus();
    } else if (event.key === "?") {
      event.preventDefault();
      sheet?.showModal();
    }
  });
  palette?.addEventListener("keydown", (event) => walk(event, palette));
}

/** Arrow keys walk the results; Enter in the box opens the first. */
function walk(event: KeyboardEvent, palette: HTMLElement): void {
  const links = [...palette.querySelectorAll<HTMLAnchorElement>(".results a")];
  const input = palette.querySelector("input");
  const at = links.indexOf(document.activeElement as HTMLAnchorElement);
  if (event.key === "ArrowDown") {
    event.preventDefault();
    links[Math.min(at + 1, links.length - 1)]?.focus();
  } else if (event.key === "ArrowUp") {
    event.preventDefault();
    if (at <= 0) input?.focus();
    else links[at - 1]?.focus();
  } else if (event.key === "Enter" && document.activeElement === input && links[0]) {
    event.preventDefault();
    links[0].click();
  }
}

function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
