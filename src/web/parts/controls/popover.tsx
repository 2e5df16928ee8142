import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { Anchored } from "./anchored.tsx";
import type { Floating } from "./anchored.tsx";
import { useDismissal } from "./dismissal.ts";

/** A button that opens a non-modal dialog beside it, whose first control takes the focus. */
export function PopoverButton(properties: {
  readonly class: string;
  readonly label?: string;
  readonly children: ComponentChildren;
  readonly popoverClass?: string;
  readonly popoverLabel: string;
  readonly renderContent: (close: () => void) => ComponentChildren;
}): JSX.Element {
  const { class: name, label, children, popoverClass = "", popoverLabel, renderContent } = properties;
  const renderPopover = ({ id, close, button }: Floating) => (
    <Popover id={id} class={popoverClass} label={popoverLabel} onClose={close} button={button}>
      {renderContent(close)}
    </Popover>
  );
  return (
    <Anchored class={name} label={label} opens="dialog" renderFloating={renderPopover}>
      {children}
    </Anchored>
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
