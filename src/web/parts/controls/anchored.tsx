import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useId, useRef } from "preact/hooks";

/** A floating element beside its button. `close` returns the focus by default. */
export type Floating = {
  readonly id: string;
  readonly close: (returnsFocus?: boolean) => void;
  readonly button: { readonly current: HTMLElement | null };
};

/** A button that opens and closes a floating element beside it. */
export function Anchored(properties: {
  readonly class: string;
  readonly label: string | undefined;
  readonly opens: "menu" | "dialog";
  readonly children: ComponentChildren;
  readonly renderFloating: (floating: Floating) => ComponentChildren;
}): JSX.Element {
  const { class: name, label, opens, children, renderFloating } = properties;
  const isOpen = useSignal(false);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const close = (returnsFocus = true) => {
    isOpen.value = false;
    if (returnsFocus) button.current?.focus();
  };
  return (
    <span class="anchor">
      <button
        ref={button}
        class={name}
        type="button"
        aria-haspopup={opens}
        aria-expanded={isOpen.value}
        aria-controls={isOpen.value ? id : undefined}
        aria-label={label}
        onClick={() => (isOpen.value = !isOpen.value)}
        onKeyDown={(event) => {
          if (opens !== "menu" || event.key !== "ArrowDown" || isOpen.value) return;
          event.preventDefault();
          isOpen.value = true;
        }}
      >
        {children}
      </button>
      {isOpen.value && renderFloating({ id, close, button })}
    </span>
  );
}
