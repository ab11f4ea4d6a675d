/** Rows of a list that are ticked: how many, all of a page, and with Shift all between two. */
import { translate } from "../words";
import { indicesBetween } from "./index-range";

export function startSelections(): void {
  for (const { id } of document.querySelectorAll<HTMLFormElement>("form[data-selection]")) new Selection(id).start();
}

class Selection {
  private lastTicked = -1; // the box that was ticked last

  constructor(private readonly id: string) {}

  start(): void {
    document.addEventListener("click", (event) => this.handleClick(event));
    document.body.addEventListener("htmx:afterSettle", () => this.showCount());
    window.addEventListener("pageshow", () => this.showCount()); // a browser that goes back keeps the ticks
    this.showCount();
  }

  /** A filter that is applied brings another form of the same name. */
  private get form(): HTMLFormElement | null {
    return document.querySelector(`form#${this.id}`);
  }

  private get selectAllBox(): HTMLInputElement | null {
    return this.form?.querySelector("[data-select-all]") ?? null;
  }

  private get checkboxes(): HTMLInputElement[] {
    return [...document.querySelectorAll<HTMLInputElement>(`input[type=checkbox][form="${this.id}"]`)];
  }

  private handleClick(event: MouseEvent): void {
    const boxes = this.checkboxes;
    if (event.target === this.selectAllBox) {
      for (const box of boxes) box.checked = this.selectAllBox?.checked ?? false;
      this.showCount();
      return;
    }
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
    const words = this.form?.querySelector<HTMLElement>("[data-selected]");
    if (words) words.textContent = ticked ? translate("%(number)s selected", { number: ticked }) : "";
    for (const button of this.form?.querySelectorAll("button") ?? []) button.disabled = ticked === 0;
  }
}
