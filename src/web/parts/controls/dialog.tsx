import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

import { Icon } from "./icons.tsx";

/** A modal dialog. The browser's element traps the focus and returns it at the end. */
export function Dialog(properties: {
  readonly class: string;
  readonly title: string;
  /** null if the dialog stays until its task is done, without a close button. */
  readonly onClose: (() => void) | null;
  readonly children: ComponentChildren;
}): JSX.Element {
  const root = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Runs before the effects of the content, which may focus another control.
  useLayoutEffect(() => {
    const dialog = root.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={root}
      class={`pop ${properties.class}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        properties.onClose?.();
      }}
      onClick={(event) => {
        // A click on the backdrop targets the dialog itself, one on its content a child.
        const dialog = root.current;
        if (dialog !== null && event.target === dialog && isOutside(event, dialog)) properties.onClose?.();
      }}
    >
      <div class="bar">
        <h2 id={id}>{properties.title}</h2>
        <span class="space" />
        {properties.onClose !== null && (
          <button class="quiet icon" type="button" aria-label="Close" onClick={properties.onClose}>
            <Icon name="close" />
          </button>
        )}
      </div>
      {properties.children}
    </dialog>
  );
}

function isOutside({ clientX, clientY }: MouseEvent, element: Element): boolean {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return clientX < left || clientX > right || clientY < top || clientY > bottom;
}
