/** Gives focus back after htmx swaps, says aloud what changed, and shows that a request failed. */

import { translate } from "../words";
import { pinAddress } from "./pin-address";

interface Refusal {
  detail: string;
  action: string;
  address: string;
}

export function startLive(): void {
  const announce = document.getElementById("announcer");
  startRefusals();
  document.body.addEventListener("htmx:beforeRequest", (event) => {
    swapTarget(event)?.setAttribute("aria-busy", "true");
  });
  document.body.addEventListener("htmx:afterSettle", (event) => {
    const element = swapTarget(event);
    element?.removeAttribute("aria-busy");
    const announcement = element?.querySelector<HTMLElement>("[data-announce]")?.dataset.announce;
    if (announce && announcement) announce.textContent = announcement;
  });
  for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    document.body.addEventListener(failure, (event) => {
      swapTarget(event)?.removeAttribute("aria-busy");
      const status = (event as CustomEvent).detail?.xhr?.status;
      if (announce)
        announce.textContent = status
          ? translate("The server answered %(status)s. Reload the page.", { status })
          : translate("The server does not answer.");
    });
  }
  document.addEventListener("click", (event) => {
    const button = (event.target as Element).closest<HTMLElement>("[data-copy]");
    if (button)
      void navigator.clipboard
        .writeText(button.dataset.copy || pinAddress(location.href, button.dataset.pins, button.dataset.anchor))
        .then(() => {
          if (announce) announce.textContent = translate("Copied");
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

/** Where the session has ended, a part that is asked for stays as it is, and a notice says how to go on. The page itself
 * never leaves by its own: somebody may be typing. */
function startRefusals(): void {
  let refused = false;
  document.body.addEventListener("htmx:configRequest", (event) => {
    const { elt, headers, triggeringEvent } = (event as CustomEvent).detail;
    const byItself = /\bevery\b/.test(elt.getAttribute("hx-trigger") ?? "") && !triggeringEvent?.isTrusted;
    if (byItself && refused) event.preventDefault();
    else if (byItself) headers["X-Poll"] = "true"; // what is not asked by a person keeps no session alive
  });
  document.body.addEventListener("refused", (event) => {
    refused = true;
    showRefusal((event as CustomEvent<Refusal>).detail);
  });
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const { detail } = event as CustomEvent;
    if (!/^\{"refused":/.test(detail.xhr.getResponseHeader("HX-Trigger") ?? "")) return;
    detail.isError = false; // the notice says more than a status
    swapTarget(event)?.removeAttribute("aria-busy");
  });
  // Who comes back may have logged in elsewhere.
  document.addEventListener("visibilitychange", () => {
    refused = false;
  });
}

function showRefusal({ detail, action, address }: Refusal): void {
  const main = document.getElementById("main");
  if (!main || document.getElementById("refused") || new URL(address, location.href).pathname === location.pathname)
    return;
  const notice = document.createElement("div");
  const text = document.createElement("div");
  const link = document.createElement("a");
  notice.id = "refused";
  notice.className = "notice warn stays";
  notice.setAttribute("role", "alert");
  link.href = address;
  link.textContent = action;
  text.append(`${detail} ${translate("What you typed on this page is not saved.")} `, link);
  notice.append(text);
  main.prepend(notice);
}

function swapTarget(event: Event): HTMLElement | null {
  return ((event as CustomEvent).detail?.target as HTMLElement | undefined) ?? null;
}
