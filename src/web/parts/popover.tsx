import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

import { useDismissal } from "./dismissal.ts";

/** A button that opens a small dialog beside it, which is not modal. The first control in it takes the focus. */
export function PopoverButton(properties: {
  readonly class: string;
  readonly label?: string;
  readonly children: ComponentChildren;
  readonly popoverClass?: string;
  readonly popoverLabel: string;
  readonly renderContent: (close: () => void) => ComponentChildren;
}): JSX.Element {
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
        class={properties.class}
        type="button"
        aria-haspopup="dialog"
        aria-expanded={isOpen.value}
        aria-controls={isOpen.value ? id : undefined}
        aria-label={properties.label}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        {properties.children}
      </button>
      {isOpen.value && (
        <Popover
          id={id}
          class={properties.popoverClass ?? ""}
          label={properties.popoverLabel}
          onClose={close}
          button={button}
        >
          {properties.renderContent(close)}
        </Popover>
      )}
    </span>
  );
}

const CONTROLS = "input:not([disabled]), button:not([disabled]), select, textarea, a[href], [tabindex='0']";

function Popover(properties: {
  readonly id: string;
  readonly class: string;
  readonly label: string;
  readonly onClose: (returnsFocus?: boolean) => void;
  readonly button: { readonly current: HTMLElement | null };
  readonly children: ComponentChildren;
}): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  useDismissal(root, properties.onClose, properties.button);
  useEffect(() => root.current?.querySelector<HTMLElement>(CONTROLS)?.focus(), []);
  return (
    <div ref={root} id={properties.id} class={`pop ${properties.class}`} role="dialog" aria-label={properties.label}>
      {properties.children}
    </div>
  );
}
