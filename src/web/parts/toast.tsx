import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";

export type Toast = { readonly text: string; readonly undo?: () => void; readonly left_s: number };

export type Toaster = {
  readonly now: Signal<Toast | null>;
  /** Shows a message for 10 s; `undo` has a button as long. The next message takes its place. */
  readonly show: (text: string, undo?: () => void) => void;
};

const SHOWN_S = 10;

export function createToaster(): Toaster {
  const now = signal<Toast | null>(null);
  let timer: ReturnType<typeof setInterval> | undefined;
  const step = () => {
    const left_s = (now.value?.left_s ?? 0) - 1;
    if (now.value !== null && left_s > 0) now.value = { ...now.value, left_s };
    else end();
  };
  const end = () => {
    clearInterval(timer);
    now.value = null;
  };
  return {
    now,
    show(text, undo) {
      clearInterval(timer);
      timer = setInterval(step, 1000);
      now.value = {
        text,
        left_s: SHOWN_S,
        ...(undo && {
          undo: () => {
            end();
            undo();
          },
        }),
      };
    },
  };
}

/** Always there, so that a screen reader hears what is put into it. */
export function ToastArea({ toaster }: { toaster: Toaster }): JSX.Element {
  const toast = toaster.now.value;
  return (
    <div role="status" aria-live="polite">
      {toast !== null && (
        <div class="toast">
          <span>{toast.text}</span>
          {toast.undo && (
            <button type="button" onClick={toast.undo}>
              Undo
            </button>
          )}
          <span class="left" aria-hidden="true">
            {toast.left_s} s
          </span>
        </div>
      )}
    </div>
  );
}
