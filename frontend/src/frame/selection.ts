/** Rows of a list that are ticked: how many, all of a page, and with Shift all between two. */
import { translate } from "../words";
import { indicesBetween } from "./index-range";

export function startSelections(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-selection]")) new Selection(form).start();
}

class Selection {
  private lastTicked = -1; // the box that was ticked last

  constructor(private readonly form: HTMLFormElement) {}

  start(): void {
    document.addEventListener("click", (event) => this.handleClick(event));
    this.selectAllBox?.addEventListener("change", () => {
      for (const box of this.checkboxes) box.checked = this.selectAllBox?.checked ?? false;
      this.showCount();
    });
    window.addEventListener("pageshow", () => this.showCount()); // a browser that goes back keeps the ticks
    this.showCount();
  }

  private get selectAllBox(): HTMLInputElement | null {
    return this.form.querySelector("[data-select-all]");
  }

  private get checkboxes(): HTMLInputElement[] {
    return [...document.querySelectorAll<HTMLInputElement>(`input[type=checkbox][form="${this.form.id}"]`)];
  }

  private handleClick(event: MouseEvent): void {
    const boxes = this.checkboxes;
    const index = boxes.indexOf(event.target as HTMLInputElement);
    const box = boxes[index];
    if (!box) return;
    if (event.shiftKey) for (const place of indicesBetween(this.lastTicked, index)) boxes[place]!.checked = box.checked;
    this.lastTicked = index;
    this.showCount();
  }

  private showCount(): void {
    const boxes = this.checkboxes;
    const ticked = boxes.filter((box) => box.checked).length;
    if (this.selectAllBox) {
      this.selectAllBox.checked = ticked > 0 && ticked === boxes.length;
      this.selectAllBox.indeterminate = ticked > 0 && ticked < boxes.length;
    }
    const words = this.form.querySelector<HTMLElement>("[data-selected]");
    if (words) words.textContent = ticked ? translate("%(number)s selected", { number: ticked }) : "";
    for (const button of this.form.querySelectorAll("button")) button.disabled = ticked === 0;
  }
}
