/** Rows of a list that are ticked: how many, all of a page, and with Shift all between two. */
import { t } from "../words";
import { indicesBetween } from "./selecting";

export function startSelections(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-selection]")) new Selection(form).start();
}

class Selection {
  private last = -1; // the box that was ticked last

  constructor(private readonly form: HTMLFormElement) {}

  start(): void {
    document.addEventListener("click", (event) => this.clicked(event));
    this.selectAllBox?.addEventListener("change", () => {
      for (const box of this.boxes) box.checked = this.selectAllBox?.checked ?? false;
      this.say();
    });
    window.addEventListener("pageshow", () => this.say()); // a browser that goes back keeps the ticks
    this.say();
  }

  private get selectAllBox(): HTMLInputElement | null {
    return this.form.querySelector("[data-select-all]");
  }

  private get boxes(): HTMLInputElement[] {
    return [...document.querySelectorAll<HTMLInputElement>(`input[type=checkbox][form="${this.form.id}"]`)];
  }

  private clicked(event: MouseEvent): void {
    const boxes = this.boxes;
    const index = boxes.indexOf(event.target as HTMLInputElement);
    const box = boxes[index];
    if (!box) return;
    if (event.shiftKey) for (const place of indicesBetween(this.last, index)) boxes[place]!.checked = box.checked;
    this.last = index;
    this.say();
  }

  private say(): void {
    const boxes = this.boxes;
    const ticked = boxes.filter((box) => box.checked).length;
    if (this.selectAllBox) {
      this.selectAllBox.checked = ticked > 0 && ticked === boxes.length;
      this.selectAllBox.indeterminate = ticked > 0 && ticked < boxes.length;
    }
    const words = this.form.querySelector<HTMLElement>("[data-selected]");
    if (words) words.textContent = ticked ? t("%(number)s selected", { number: ticked }) : "";
    for (const button of this.form.querySelectorAll("button")) button.disabled = ticked === 0;
  }
}
