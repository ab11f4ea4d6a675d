// The page of connecting a cluster: a kubeconfig is read here, and its contexts become a choice.
import { type Kubeconfig, type KubeconfigContext, quoteWord, readKubeconfig, suggestName } from "./kubeconfig";
import { translate } from "./words";

const LARGEST = 1024 * 1024; // bytes, as the site accepts

class ConnectPage {
  private readonly text: HTMLTextAreaElement;
  private readonly file: HTMLInputElement;
  private readonly name: HTMLInputElement;
  private readonly commands: HTMLElement;
  private readonly continueButton: HTMLButtonElement;
  // The field as it came, for a context that is typed.
  private readonly typed: HTMLInputElement;
  private kubeconfig: Kubeconfig | null = null;
  private suggested = "";

  constructor(private readonly form: HTMLFormElement) {
    this.text = this.find("#id_kubeconfig");
    this.file = this.find("#id_kubeconfig_file");
    this.name = this.find("#id_name");
    this.commands = this.find("#token-commands");
    this.continueButton = this.find("[data-continue]");
    this.typed = this.find("#id_context");
  }

  start(): void {
    this.find<HTMLElement>("[data-read-here]").hidden = false;
    this.text.addEventListener("input", () => {
      this.file.value = "";
      this.show(readKubeconfig(this.text.value));
    });
    this.file.addEventListener("change", () => this.readFile());
    this.form.addEventListener("dragover", (event) => event.preventDefault());
    this.form.addEventListener("drop", (event) => this.handleDrop(event));
    this.continueButton.addEventListener("click", () => this.continueWithToken());
    if (this.text.value) this.show(readKubeconfig(this.text.value)); // a browser that goes back keeps the text
  }

  private find<Type extends Element>(selector: string): Type {
    return this.form.querySelector<Type>(selector)!;
  }

  private async readFile(): Promise<void> {
    const file = this.file.files?.[0];
    if (!file) return this.show(null);
    this.text.value = "";
    this.show(file.size > LARGEST ? null : readKubeconfig(await file.text()));
  }

  private handleDrop(event: DragEvent): void {
    const files = event.dataTransfer?.files;
    if (!files?.length) return; // a text that is dropped goes where it is dropped
    event.preventDefault();
    this.choose("kubeconfig");
    this.file.files = files;
    void this.readFile();
  }

  private choose(source: string): void {
    this.find<HTMLInputElement>(`[name=source][value=${source}]`).checked = true;
  }

  private show(kubeconfig: Kubeconfig | null): void {
    this.kubeconfig = kubeconfig;
    const field = this.form.querySelector("#id_context")!;
    if (kubeconfig) {
      const select = this.makeSelect(kubeconfig);
      field.replaceWith(select);
      select.addEventListener("change", () => this.showContext());
    } else {
      field.replaceWith(this.typed);
    }
    this.showContext();
  }

  private makeSelect(kubeconfig: Kubeconfig): HTMLSelectElement {
    const select = document.createElement("select");
    for (const { name, value } of this.typed.attributes) {
      if (["id", "name", "aria-describedby"].includes(name)) select.setAttribute(name, value);
    }
    const { contexts, current } = kubeconfig;
    if (!current && contexts.length > 1) select.add(new Option(translate("Choose a context"), ""));
    for (const context of contexts) select.add(new Option(describe(context), context.name));
    select.value = current || (contexts.length === 1 ? contexts[0]!.name : "");
    return select;
  }

  private get chosen(): KubeconfigContext | undefined {
    const field = this.find<HTMLSelectElement | HTMLInputElement>("#id_context");
    return this.kubeconfig?.contexts.find((context) => context.name === field.value);
  }

  private showContext(): void {
    const context = this.chosen;
    if (!this.name.value || this.name.value === this.suggested) {
      this.suggested = context ? suggestName(context.name) : "";
      this.name.value = this.suggested;
    }
    this.commands.hidden = !context?.program;
    if (!context?.program) return;
    for (const [slot, value] of Object.entries({
      context: context.name,
      server: context.server,
      word: quoteWord(context.name),
    })) {
      for (const element of this.commands.querySelectorAll(`[data-slot=${slot}]`)) element.textContent = value;
    }
    this.continueButton.hidden = false;
  }

  /** Goes on with the server and the authority of the context, so that only the token is missing. */
  private continueWithToken(): void {
    const context = this.chosen;
    if (!context) return;
    this.choose("token");
    this.find<HTMLInputElement>("#id_server").value = context.server;
    this.find<HTMLTextAreaElement>("#id_ca").value = context.ca;
    this.continueButton.hidden = true;
    this.find<HTMLInputElement>("#id_token").focus();
  }
}

function describe(context: KubeconfigContext): string {
  const values = { context: context.name, server: context.server, program: context.program };
  return context.program
    ? translate("%(context)s: %(server)s, token from %(program)s", values)
    : translate("%(context)s: %(server)s", values);
}

const form = document.querySelector<HTMLFormElement>("form.connect");
if (form) new ConnectPage(form).start();
