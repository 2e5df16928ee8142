import { useLayoutEffect, useRef } from "preact/hooks";

import { faultMessage } from "../../parts/api/client.ts";
import type { App } from "../../state/app.ts";
import { shortcut } from "../../parts/keys/table.ts";

/** A finished action: its confirmation message, and the call that undoes it. */
export type UndoableChange = { readonly words: string; readonly undo: () => Promise<unknown> };

/** An action that can be undone. */
export type Undoable = {
  readonly work: () => Promise<UndoableChange>;
  /** The error message without its reason, which follows a colon. */
  readonly failed: string;
  /** Called when the action, or its undoing, is over. */
  readonly changed: () => void;
};

/** Runs actions that the toast or `z` undoes, also before the service has answered. */
export function useUndo({ shortcuts, toaster }: App, place: "inbox" | "bookmarks"): (act: Undoable) => Promise<void> {
  const undo = useRef<(() => void) | null>(null);
  useLayoutEffect(() => shortcuts.bind([shortcut(place, "undo", () => undo.current?.())]), []);
  return async ({ work, failed, changed }) => {
    let isUnwanted = false;
    const whileWorking = (): void => {
      isUnwanted = true;
    };
    undo.current = whileWorking;
    try {
      const { words, undo: takeBack } = await work();
      const back = (): void => {
        takeBack()
          .catch((fault: unknown) => toaster.show(`Not taken back: ${faultMessage(fault)}`))
          .finally(changed);
      };
      if (isUnwanted) back();
      else toaster.show(words, back);
    } catch (fault) {
      toaster.show(`${failed}: ${faultMessage(fault)}`);
    }
    if (undo.current === whileWorking) undo.current = () => toaster.now.peek()?.undo?.();
    changed();
  };
}
