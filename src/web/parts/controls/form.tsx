import type { ComponentChildren, JSX } from "preact";

/** A form that the page handles itself; the browser sends nothing. */
export function Form(properties: {
  readonly class: string;
  readonly label?: string;
  readonly onSubmit: (form: HTMLFormElement) => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { class: name, label, onSubmit, children } = properties;
  return (
    <form
      class={name}
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(event.currentTarget);
      }}
    >
      {children}
    </form>
  );
}

/** Returns the texts of a form by field name, without unticked checkboxes. */
export function formValues(form: HTMLFormElement): Readonly<Record<string, string>> {
  const entries = [...new FormData(form)].filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return Object.fromEntries(entries);
}
