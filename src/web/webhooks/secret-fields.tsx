import type { JSX } from "preact";

import type { Draft } from "./draft.ts";
import { Field } from "./field.tsx";

const CHOICES = {
  kept: "Keep the one that it has",
  drawn: "Draw a new one",
  given: "Enter the one that the sender has drawn",
} as const;

/** The secret by which the requests of a hook are signed: kept, drawn anew, or entered. */
export function SecretFields(properties: {
  readonly draft: Draft;
  /** Whether there is one that may be kept. */
  readonly hasSecret: boolean;
  readonly fault: string | null;
  readonly onChange: (changed: Partial<Draft>) => void;
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
          label="The sender's secret"
          value={draft.given}
          isRequired
          isCode
          help="8 to 200 characters. Drawn ones are better: those of fewer than 32 characters can be guessed."
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
          What is signed with the old secret is refused once this is saved. To lose nothing meanwhile, make a second
          webhook, move the sender to it, and remove this one.
        </p>
      )}
    </fieldset>
  );
}
