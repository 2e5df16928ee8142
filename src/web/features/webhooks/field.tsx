import type { JSX } from "preact";

/** A text field with its label, help and fault. */
export function Field(properties: {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly help?: string;
  readonly fault?: string | null;
  readonly example?: string;
  readonly isRequired?: boolean;
  readonly isCode?: boolean;
  /** More than one makes it a textarea. */
  readonly rows?: number;
}): JSX.Element {
  const { id, label, value, onInput, help, fault = null, example, isRequired = false, isCode = false } = properties;
  const { rows = 1 } = properties;
  const described = [help === undefined ? [] : `${id}-help`, fault === null ? [] : `${id}-fault`].flat();
  const attributes = {
    class: isCode ? "in mono" : "in",
    id,
    value,
    placeholder: example,
    required: isRequired,
    spellcheck: false,
    autocomplete: "off",
    autocapitalize: "off",
    "aria-invalid": fault !== null,
    "aria-describedby": described.length === 0 ? undefined : described.join(" "),
  } as const;
  return (
    <div>
      <label for={id}>{label}</label>
      {rows > 1 ? (
        <textarea {...attributes} rows={rows} onInput={(event) => onInput(event.currentTarget.value)} />
      ) : (
        <input {...attributes} onInput={(event) => onInput(event.currentTarget.value)} />
      )}
      {fault !== null && (
        <p class="err" id={`${id}-fault`}>
          {fault}
        </p>
      )}
      {help !== undefined && (
        <p class="help" id={`${id}-help`}>
          {help}
        </p>
      )}
    </div>
  );
}
