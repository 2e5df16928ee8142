import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";

/** A message; with `undo`, `left_s` is the time left to undo it. */
export type Toast = { readonly text: string; readonly undo?: () => void; readonly left_s?: number };

export type Toaster = {
  readonly now: Signal<Toast | null>;
  /** Shows a message for 10 s, with a button for `undo`. The next message replaces it. */
  readonly show: (text: string, undo?: () => void) => void;
};

const SHOWN_S = 10;

export function createToaster(): Toaster {
  const now = signal<Toast | null>(null);
  let timer: ReturnType<typeof setInterval> | undefined;
  const end = () => {
    clearInterval(timer);
    now.value = null;
  };
  return {
    now,
    show(text, undo) {
      clearInterval(timer);
      let left_s = SHOWN_S;
      const undoAndEnd = undo && (() => (end(), undo()));
      const draw = () => (now.value = undoAndEnd === undefined ? { text } : { text, undo: undoAndEnd, left_s });
      draw();
      timer = setInterval(() => {
        left_s -= 1;
        if (left_s <= 0) end();
        else if (undo !== undefined) draw();
      }, 1000);
    },
  };
}

/** Always present, so that screen readers announce changes. */
export function ToastArea({ toaster }: { toaster: Toaster }): JSX.Element {
  const toast = toaster.now.value;
  return (
    <div role="status" aria-live="polite">
      {toast !== null && (
        <div class="toast">
          <span>{toast.text}</span>
          {toast.undo && (
            <>
              <button type="button" onClick={toast.undo}>
                Undo
              </button>
              <span class="left" aria-hidden="true">
                {toast.left_s} s
              </span>
            </>
          )}
        </div>
      )}
    </div>
  );
}
