// The page of the REST API: operations that hold the words, and those that a person sends from here.
import { callAddress, hasAllWords, indentJson } from "./reference-calls";

const LONGEST = 100_000; // letters of an answer that are shown

function bindFilter(form: HTMLFormElement): void {
  const input = form.querySelector<HTMLInputElement>("input")!;
  const output = form.querySelector("[data-found]");
  const search = (): void => {
    let matchCount = 0;
    const operations = document.querySelectorAll<HTMLElement>("[data-operation]");
    for (const operation of operations) {
      operation.hidden = !hasAllWords(operation.querySelector("summary")?.textContent ?? "", input.value.trim());
      if (!operation.hidden) matchCount += 1;
    }
    for (const section of document.querySelectorAll<HTMLElement>("[data-operations]")) {
      section.hidden = !section.querySelector("[data-operation]:not([hidden])");
    }
    if (output) output.textContent = `${matchCount} of ${operations.length} operations`;
  };
  input.addEventListener("input", search);
}

function listValues(form: HTMLFormElement, place: string): [string, string][] {
  const inputs = form.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>(`[data-place="${place}"]`);
  return [...inputs].map((input) => [input.name, input.value.trim()]);
}

async function sendRequest(form: HTMLFormElement): Promise<void> {
  const { try: path = "", method = "GET", sends = "" } = form.dataset;
  const status = form.querySelector<HTMLElement>("[data-status]")!;
  const answer = form.querySelector<HTMLElement>("[data-answer]")!;
  const headers = new Headers(listValues(form, "header").filter(([, value]) => value));
  headers.set("Accept", "application/json, */*;q=0.5");
  const token = JSON.parse(document.body.getAttribute("hx-headers") ?? "{}") as Record<string, string>;
  for (const [name, value] of Object.entries(token)) headers.set(name, value);
  if (sends) headers.set("Content-Type", sends);
  const body = sends ? (listValues(form, "body")[0]?.[1] ?? "") : null;
  status.textContent = "Sending …";
  try {
    const response = await fetch(callAddress(path, listValues(form, "path"), listValues(form, "query")), {
      method,
      headers,
      body,
    });
    const text = await response.text();
    status.textContent = `${response.status} ${response.statusText}`;
    answer.textContent = indentJson(text).slice(0, LONGEST);
    answer.hidden = !text;
  } catch (error) {
    status.textContent = error instanceof Error ? error.message : String(error);
  }
}

const finding = document.querySelector<HTMLFormElement>("[data-reference-filter]");
if (finding) bindFilter(finding);
document.addEventListener("submit", (event) => {
  const tryForm = (event.target as HTMLElement).closest<HTMLFormElement>("form[data-try]");
  if (!tryForm) return;
  event.preventDefault();
  void sendRequest(tryForm);
});
