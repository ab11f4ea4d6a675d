/** A slider and its number say the same; only the number is sent. */
export function startSliders(): void {
  document.addEventListener("input", (event) => {
    const input = event.target as HTMLInputElement;
    if (input.dataset.for) {
      const number = document.getElementById(input.dataset.for) as HTMLInputElement | null;
      if (number) number.value = input.value;
    } else if (input.type === "number") {
      const slider = document.querySelector<HTMLInputElement>(`[data-for="${CSS.escape(input.id)}"]`);
      if (slider) slider.value = input.value || input.placeholder;
    }
  });
}
