import { useSignal } from "@preact/signals";
import type { JSX } from "preact";

import { Icon } from "./icons.tsx";

/** Copies a text and confirms it. */
export function CopyButton(properties: {
  readonly text: string;
  readonly class: string;
  /** What is copied, for the accessible name where there are several. */
  readonly of?: string;
}): JSX.Element {
  const { text, class: name, of } = properties;
  const words = useSignal("Copy");
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => (words.value = "Copied"),
      () => (words.value = "Select it and press Ctrl+C"),
    );
  };
  return (
    <button class={name} type="button" onClick={copy} onBlur={() => (words.value = "Copy")}>
      <Icon name="copy" />
      <span aria-live="polite">{words.value}</span>
      {of !== undefined && <span class="sr"> {of}</span>}
    </button>
  );
}
