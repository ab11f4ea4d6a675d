/** Passkeys: the browser's answer to the options in the page becomes the form's hidden field, and the form is sent. */
import { translate } from "../words";

type Json = Record<string, unknown>;

async function requestCredential(kind: string, publicKey: Json): Promise<Credential | null> {
  if (kind === "create") {
    const options = PublicKeyCredential.parseCreationOptionsFromJSON(
      publicKey as unknown as PublicKeyCredentialCreationOptionsJSON,
    );
    return navigator.credentials.create({ publicKey: options });
  }
  const options = PublicKeyCredential.parseRequestOptionsFromJSON(
    publicKey as unknown as PublicKeyCredentialRequestOptionsJSON,
  );
  return navigator.credentials.get({ publicKey: options });
}

async function usePasskey(form: HTMLFormElement): Promise<void> {
  const alert = form.querySelector<HTMLElement>("[role=alert][hidden], .field-error[role=alert]");
  const options = form.querySelector("#passkey-options");
  const field = form.querySelector<HTMLInputElement>("input[name=credential]");
  if (!options || !field) return;
  try {
    const { publicKey } = JSON.parse(options.textContent ?? "") as { publicKey: Json };
    const answer = await requestCredential(form.dataset.passkey ?? "", publicKey);
    field.value = JSON.stringify(answer);
    form.submit();
  } catch (error) {
    if (!alert) return;
    const name = error instanceof Error ? error.name : "";
    alert.textContent =
      name === "InvalidStateError"
        ? translate("This passkey is added already.")
        : translate("The browser did not use a passkey. Try again.");
    alert.hidden = false;
  }
}

export function startPasskeys(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-passkey]")) {
    if (!("PublicKeyCredential" in window && "parseCreationOptionsFromJSON" in PublicKeyCredential)) continue;
    form.hidden = false;
    form.querySelector("button[type=button]")?.addEventListener("click", () => void usePasskey(form));
  }
}
