import type { JSX } from "preact";

import type { HookDraft } from "./draft.ts";
import { Field } from "./field.tsx";

const CHOICES = {
  kept: "Keep the current secret",
  drawn: "Generate a new secret",
  given: "Enter the secret of the sender",
} as const;

/** The signing secret of a hook: keep it, generate a new one, or enter one. */
export function SecretFields(properties: {
  readonly draft: HookDraft;
  /** Whether the hook has a secret that can be kept. */
  readonly hasSecret: boolean;
  readonly fault: string | null;
  readonly onChange: (changed: Partial<HookDraft>) => void;
}): JSX.Element {
  const { draft, hasSecret, fault, onChange } = properties;
  const choices = (["kept", "drawn", "given"] as const).filter((choice) => choice !== "kept" || hasSecret);
  return (
    <fieldset>
      <legend>Secret</legend>
      {choices.map((choice) => (
        <div class="tickbox" key={choice}>
          <input
            id={`secret-${choice}`}
            type="radio"
            name="secret"
            checked={draft.secret === choice}
            onChange={() => onChange({ secret: choice })}
          />
          <label for={`secret-${choice}`}>{CHOICES[choice]}</label>
        </div>
      ))}
      {draft.secret === "given" && (
        <Field
          id="webhook-secret"
          label="Secret of the sender"
          value={draft.given}
          isRequired
          isCode
          help="8 to 200 characters. One of fewer than 32 can be guessed."
          fault={fault}
          onInput={(given) => onChange({ given })}
        />
      )}
      {draft.secret !== "given" && fault !== null && (
        <p class="err" role="alert">
          {fault}
        </p>
      )}
      {hasSecret && draft.secret !== "kept" && (
        <p class="help">
          Requests signed with the old secret are refused once you save. To lose none, make a second webhook, move the
          sender to it, then remove this one.
        </p>
      )}
    </fieldset>
  );
}
