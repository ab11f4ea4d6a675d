// The YAML side of an editor whose form and text are one document (policies, scenarios), kept in step by the server.
// A form says with data-document what its parts are called: policy-fields, policy-code, policy-state-data.
// Without this script the text area and the form's buttons do the same work.

import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Text } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";

import { type Schema, schemaCompletion } from "./document-editor-completion";
import { type Finding, markedRange, minimalEdit, positionAt, schemaAddress } from "./document-editor-edits";
import { startForm } from "./document-form";
import { startOrdering } from "./document-order";

interface State {
  document: string;
  /** The release of kube-scheduler that the form names, "" for none; there in policies with profiles. */
  release?: string;
  /** What the address says of what is shown; "" for what is as usual. */
  query?: Record<string, string>;
  errors: Finding[];
  warnings: Finding[];
}

const TYPING_PAUSE = 300;

const editorTheme = EditorView.theme({
  "&": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--radius)",
    fontSize: "var(--small)",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", minHeight: "320px", maxHeight: "min(52vh, 900px)" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--text-soft)", borderColor: "var(--line)" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-activeLine, .cm-activeLineGutter": {
    backgroundColor: "color-mix(in oklab, var(--accent-soft) 45%, transparent)",
  },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in oklab, var(--accent) 28%, transparent)",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    boxShadow: "var(--float)",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--accent-text)" },
  ".cm-completionInfo": { maxWidth: "340px" },
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--text)" },
  ".cm-searchMatch": { backgroundColor: "var(--amber-soft)", outline: "1px solid var(--amber)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--sunken)", color: "var(--text-soft)", borderColor: "var(--line)" },
});

const highlightColours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--blue)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--green)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--amber)" },
  { tag: tags.comment, color: "var(--text-soft)", fontStyle: "italic" },
  { tag: [tags.meta, tags.punctuation, tags.separator], color: "var(--text-soft)" },
]);

function toDiagnostic(doc: Text, finding: Finding, severity: "error" | "warning"): Diagnostic {
  return { ...markedRange(doc, finding), severity, message: finding.message };
}

function readNonce(): string {
  return document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce ?? "";
}

class DocumentEditor {
  private readonly view: EditorView;
  private timer = 0;
  private readonly schemas = new Map<string, Promise<Schema>>();
  /** Both sides as the request under way found them: an answer must not overwrite what was entered since. */
  private sentState = "";
  private readonly savedText: string;
  private readonly fieldsId: string;
  private isChecking = false;
  private focusedId = "";
  private isLeaving = false;
  /** Buttons of the form that were pressed: each goes with a request of its own. */
  private readonly pressedButtons: { name: string; value: string }[] = [];
  private sentButton: { name: string; value: string } | undefined;

  constructor(
    private readonly form: HTMLFormElement,
    private readonly area: HTMLTextAreaElement,
    place: HTMLElement,
  ) {
    this.savedText = area.value;
    this.fieldsId = `${form.dataset.document ?? ""}-fields`;
    const readOnly = area.readOnly;
    this.view = new EditorView({
      parent: place,
      doc: area.value,
      extensions: [
        EditorView.cspNonce.of(readNonce()),
        basicSetup,
        yaml(),
        editorTheme,
        syntaxHighlighting(highlightColours),
        lintGutter(),
        schemaCompletion(() => this.loadSchema(place.dataset.schema ?? "")),
        EditorState.readOnly.of(readOnly),
        EditorView.lineWrapping,
        // The tab stop is written down since a long text scrolls, and not every tool knows that what can be edited is one.
        EditorView.contentAttributes.of({
          "aria-label": place.dataset.label ?? "YAML",
          spellcheck: "false",
          tabindex: "0",
        }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          this.area.value = update.state.doc.toString();
          if (
            update.transactions.some(
              (step) =>
                step.isUserEvent("input") ||
                step.isUserEvent("delete") ||
                step.isUserEvent("undo") ||
                step.isUserEvent("redo") ||
                step.isUserEvent("move"),
            )
          )
            this.handleTyping();
        }),
      ],
    });
    area.hidden = true;
    place.classList.add("is-ready");
    this.bindEvents();
    const fields = document.getElementById(this.fieldsId);
    if (fields) {
      startForm(fields, (button) => this.pressButton(button));
      startOrdering(fields, (text) => {
        const status = document.getElementById(`${form.dataset.document ?? ""}-said`);
        if (status) status.textContent = text;
      });
    }
    this.showState(this.readState());
  }

  /** The schema of the release that the form names now. */
  private loadSchema(address: string): Promise<Schema> {
    const schemaUrl = schemaAddress(address, this.readState().release);
    const cached = this.schemas.get(schemaUrl);
    if (cached) return cached;
    const loaded = fetch(schemaUrl).then((answer) => {
      if (!answer.ok) throw new Error(`${schemaUrl}: ${answer.status}`);
      return answer.json() as Promise<Schema>;
    });
    loaded.catch(() => this.schemas.delete(schemaUrl)); // it is asked for again
    this.schemas.set(schemaUrl, loaded);
    return loaded;
  }

  private bindEvents(): void {
    this.form.addEventListener("htmx:configRequest", (event) => {
      if (event.target !== this.form) return;
      this.sentState = this.formState();
      this.isChecking = true;
      this.sentButton = this.pressedButtons.shift();
      if (!this.sentButton) return;
      const { parameters } = (event as CustomEvent<{ parameters: Record<string, string> }>).detail;
      parameters[this.sentButton.name] = this.sentButton.value;
    });
    this.form.addEventListener("htmx:afterRequest", (event) => {
      if (event.target !== this.form) return;
      this.isChecking = false;
      if (this.pressedButtons.length) window.setTimeout(() => this.requestCheck());
    });
    this.form.addEventListener("htmx:beforeSwap", (event) => {
      const detail = (event as CustomEvent<{ target: Element; shouldSwap: boolean }>).detail;
      if (detail.target.id !== this.fieldsId) return;
      this.focusedId = document.activeElement?.id ?? "";
      if (this.sentState === this.formState()) return;
      detail.shouldSwap = false;
      if (this.sentButton) this.pressedButtons.unshift(this.sentButton); // its answer is not shown: it is pressed again
    });
    // With the swap itself: what is typed before it has settled would be overwritten.
    document.body.addEventListener("htmx:afterSwap", (event) => {
      if ((event as CustomEvent<{ target: Element }>).detail.target.id !== this.fieldsId) return;
      this.showState(this.readState());
      reopenDetails();
      // What was closed until now could not take the focus back.
      if (document.activeElement === document.body) document.getElementById(this.focusedId)?.focus();
    });
    document.body.addEventListener("htmx:afterSettle", reopenDetails);
    this.form.addEventListener("submit", (event) => this.handleSubmit(event));
    window.addEventListener("beforeunload", (event) => {
      if (!this.isLeaving && this.area.value !== this.savedText) event.preventDefault();
    });
    document.addEventListener("click", (event) => {
      const button = (event.target as Element).closest<HTMLElement>("[data-line]");
      if (button) this.goTo(Number(button.dataset.line), Number(button.dataset.column ?? 1));
    });
    this.form.addEventListener("toggle", rememberOpen, true);
  }

  private formState(): string {
    const data = new FormData(this.form);
    data.delete("comment");
    return JSON.stringify([...data]);
  }

  private handleTyping(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.requestCheck(), TYPING_PAUSE);
  }

  private requestCheck(): void {
    window.clearTimeout(this.timer);
    this.form.dispatchEvent(new CustomEvent("document-edited"));
  }

  private pressButton(button: HTMLButtonElement): void {
    this.pressedButtons.push({ name: button.name, value: button.value });
    if (!this.isChecking) this.requestCheck();
  }

  /** A button of this column waits for the answer under way, which leaving the page would break off. */
  private handleSubmit(event: SubmitEvent): void {
    const button = event.submitter as HTMLButtonElement | null;
    if (button && (button.name === "update" || button.closest(`#${this.fieldsId}`))) {
      event.preventDefault();
      this.pressButton(button);
      return;
    }
    window.clearTimeout(this.timer);
    if (this.isChecking && button) {
      event.preventDefault();
      const submitWhenIdle = (): void => {
        if (!this.isChecking) this.form.requestSubmit(button);
        else this.form.addEventListener("htmx:afterRequest", () => window.setTimeout(submitWhenIdle), { once: true });
      };
      submitWhenIdle();
      return;
    }
    this.isLeaving = true;
  }

  private readState(): State {
    return JSON.parse(
      document.getElementById(`${this.form.dataset.document ?? ""}-state-data`)?.textContent ?? "{}",
    ) as State;
  }

  private showState(state: State): void {
    if (state.query) writeAddress(state.query);
    const changes = minimalEdit(this.view.state.doc.toString(), state.document);
    if (changes) this.view.dispatch({ changes });
    const doc = this.view.state.doc;
    this.view.dispatch(
      setDiagnostics(this.view.state, [
        ...state.errors.map((finding) => toDiagnostic(doc, finding, "error")),
        ...state.warnings.map((finding) => toDiagnostic(doc, finding, "warning")),
      ]),
    );
  }

  private goTo(line: number, column: number): void {
    const anchor = positionAt(this.view.state.doc, line, column);
    this.view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
    this.view.focus();
  }
}

/** Lets the address say what is shown, so that it can be kept and passed on. */
function writeAddress(query: Record<string, string>): void {
  const now = new URL(window.location.href);
  for (const [name, value] of Object.entries(query)) {
    if (value) now.searchParams.set(name, value);
    else now.searchParams.delete(name);
  }
  window.history.replaceState(window.history.state, "", now);
}

/** Arguments that a person opened stay open when the form is drawn anew. */
const openDetails = new Map<string, boolean>();

function rememberOpen(event: Event): void {
  const details = event.target as HTMLDetailsElement;
  if (details.dataset.keep) openDetails.set(details.dataset.keep, details.open);
}

function reopenDetails(): void {
  for (const details of document.querySelectorAll<HTMLDetailsElement>("details[data-keep]")) {
    const open = openDetails.get(details.dataset.keep ?? "");
    if (open !== undefined && !details.querySelector("[aria-invalid]")) details.open = open;
  }
}

const form = document.querySelector<HTMLFormElement>("form[data-document]");
const area = document.querySelector<HTMLTextAreaElement>("#document");
const place = document.getElementById(`${form?.dataset.document ?? ""}-code`);
if (form && area && place) new DocumentEditor(form, area, place);
