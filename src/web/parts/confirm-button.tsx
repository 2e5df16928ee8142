import { useSignal } from "@preact/signals";
import type { JSX } from "preact";

/** A button for an action that can't be undone: it asks for confirmation in place. */
export function ConfirmButton(properties: {
  readonly label: string;
  readonly question: string;
  readonly act: () => void;
}): JSX.Element {
  const { label, question, act } = properties;
  const isAsking = useSignal(false);
  if (!isAsking.value)
    return (
      <button class="quiet" type="button" onClick={() => (isAsking.value = true)}>
        {label}
      </button>
    );
  return (
    <span class="acts" role="group" aria-label={question}>
      <span>{question}</span>
      <button
        class="btn small danger"
        type="button"
        ref={(button) => button?.focus()}
        onClick={() => {
          isAsking.value = false;
          act();
        }}
      >
        {label}
      </button>
      <button class="btn small" type="button" onClick={() => (isAsking.value = false)}>
        Keep
      </button>
    </span>
  );
}
