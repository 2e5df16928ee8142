import { useSignal } from "@preact/signals";
import type { JSX } from "preact";

/** A button for an action that can't be undone: it asks for confirmation in place. */
export function ConfirmButton(properties: {
  readonly label: string;
  readonly question: string;
  /** What it acts on, for its accessible name: a table has one such button for each row. */
  readonly of?: string;
  readonly act: () => void;
}): JSX.Element {
  const { label, question, of, act } = properties;
  const isAsking = useSignal(false);
  /** Set once an answer is given: the keyboard goes on from the first button. */
  const isAnswered = useSignal(false);
  if (!isAsking.value)
    return (
      <button
        class="quiet"
        type="button"
        aria-label={of === undefined ? undefined : `${label} ${of}`}
        ref={(button) => {
          if (button !== null && isAnswered.peek()) button.focus();
          isAnswered.value = false;
        }}
        onClick={() => (isAsking.value = true)}
      >
        {label}
      </button>
    );
  const answer = () => {
    isAnswered.value = true;
    isAsking.value = false;
  };
  return (
    <span class="acts" role="group" aria-label={question}>
      <span>{question}</span>
      <button
        class="btn small danger"
        type="button"
        ref={(button) => button?.focus()}
        onClick={() => {
          answer();
          act();
        }}
      >
        {label}
      </button>
      <button class="btn small" type="button" onClick={answer}>
        Keep
      </button>
    </span>
  );
}
