/** Inputs of moments say UTC beside, and take what is pasted in ISO 8601. The browser's zone is told to the server. */
import { formatMoment, parseMoment, parsePastedMoment } from "./zones";

const YEAR = 31536000; // seconds

export function startMoments(): void {
  storeZone();
  document.addEventListener("input", (event) => showUtc(event.target as HTMLElement));
  document.addEventListener("paste", (event) => {
    const input = event.target as HTMLInputElement;
    const box = input.closest?.<HTMLElement>(".moment");
    const text = box && parsePastedMoment(event.clipboardData?.getData("text") ?? "", box.dataset.zone ?? "UTC");
    if (!text) return;
    event.preventDefault();
    input.value = text;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

/** Pages are in the browser's zone where a person's settings name none. */
function storeZone(): void {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!zone || document.cookie.includes(`zone=${zone}`)) return;
  const secure = location.protocol === "https:" ? ";secure" : "";
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is there over https only.
  document.cookie = `zone=${zone};path=/;max-age=${YEAR};samesite=lax${secure}`;
}

function showUtc(input: HTMLElement): void {
  const box = input.closest?.<HTMLElement>(".moment");
  const output = box?.querySelector("[data-utc]");
  if (!box || !output || !(input instanceof HTMLInputElement)) return;
  const zone = box.dataset.zone ?? "UTC";
  const instant = parseMoment(input.value, zone);
  output.textContent =
    instant === undefined || zone === "UTC" ? zone : `${formatMoment(instant, "UTC").replace("T", " ")} UTC`;
}
