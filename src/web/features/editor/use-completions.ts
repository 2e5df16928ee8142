import { batch, useSignal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import type { AssistantProperties } from "./assistance.ts";
import { completionContextAt } from "./completion-context.ts";
import type { CompletionContext } from "./completion-context.ts";
import type { CompletionSource } from "./completion-source.ts";
import { NO_COMPLETION_DATA, completionsFor, insertion } from "./completions.ts";
import type { Completion } from "./completions.ts";

/** Delay after the last key before completion data is requested, in milliseconds. */
const ASK_MS = 120;

export type OpenCompletions = {
  readonly context: CompletionContext;
  readonly completions: readonly Completion[];
  readonly chosen: number;
};

export type Completing = {
  readonly open: ReadonlySignal<OpenCompletions | null>;
  /** @param isAsked whether completions are requested although no part of a word is typed */
  readonly suggest: (isAsked: boolean) => void;
  readonly accept: (completion: Completion) => void;
  /** Handles a key of the completions; returns whether it did. */
  readonly actOnKey: (event: KeyboardEvent) => boolean;
  readonly close: () => void;
};

/** Offers completions of the word at the cursor. It changes the text only on request. */
export function useCompletions(
  { field, active, id }: Pick<AssistantProperties, "field" | "active" | "id">,
  source: CompletionSource,
): Completing {
  const open = useSignal<OpenCompletions | null>(null);
  const asked = useRef(0);
  const setOpen = (next: OpenCompletions | null) =>
    batch(() => {
      open.value = next;
      active.value = next === null || next.chosen === -1 ? null : `${id}-${next.chosen}`;
    });
  /** Adds what the service knows. If the request fails, only keywords are offered. */
  const join = async (
    number: number,
    context: CompletionContext,
    show: (completions: readonly Completion[]) => void,
  ) => {
    const data = await source.read(context).catch(() => NO_COMPLETION_DATA);
    // A completion chosen meanwhile stays in place.
    const isChosen = open.peek() !== null && open.peek()!.chosen !== -1;
    if (number === asked.current && !isChosen) show(completionsFor(context, data));
  };
  const suggest = (isAsked: boolean) => {
    const number = (asked.current += 1);
    const context = completionContextAt(field.value, field.selectionStart);
    if (context === null || field.selectionStart !== field.selectionEnd || (context.typed === "" && !isAsked)) {
      setOpen(null);
      return;
    }
    const show = (completions: readonly Completion[]) =>
      setOpen(completions.length === 0 ? null : { context, completions, chosen: -1 });
    show(completionsFor(context, NO_COMPLETION_DATA));
    if (context.fields === null && context.valuesOf === null && !context.classes) return;
    setTimeout(() => {
      if (number === asked.current) void join(number, context, show);
    }, ASK_MS);
  };
  const close = () => {
    asked.current += 1;
    setOpen(null);
  };
  const accept = (completion: Completion) => {
    const { context } = open.peek()!;
    const { span, insert } = insertion(field.value, context, completion);
    close();
    typeText(field, span, insert);
    // The next word often needs completion too.
    if (/[\s(]$/.test(insert)) suggest(true);
  };
  const choose = (chosen: number) => setOpen({ ...open.peek()!, chosen });
  const actions = { suggest: () => suggest(true), choose, accept, close };
  return { open, suggest, accept, close, actOnKey: (event) => actOnKey(event, open.peek(), actions) };
}

/** Handles a key of the completions; returns whether it did. Enter accepts only a chosen one. */
function actOnKey(
  { key, ctrlKey, altKey, shiftKey, metaKey }: KeyboardEvent,
  open: OpenCompletions | null,
  actions: {
    suggest: () => void;
    choose: (chosen: number) => void;
    accept: (completion: Completion) => void;
    close: () => void;
  },
): boolean {
  if ((key === " " && ctrlKey) || (key === "ArrowDown" && altKey)) {
    actions.suggest();
    return true;
  }
  if (open === null || ctrlKey || altKey || metaKey || shiftKey) return false;
  const { completions, chosen } = open;
  switch (key) {
    case "ArrowDown":
      actions.choose(chosen + 1 === completions.length ? -1 : chosen + 1);
      return true;
    case "ArrowUp":
      actions.choose(chosen === -1 ? completions.length - 1 : chosen - 1);
      return true;
    case "Enter":
      if (chosen !== -1) actions.accept(completions[chosen]!);
      return chosen !== -1;
    case "Tab":
      actions.accept(completions[Math.max(chosen, 0)]!);
      return true;
    case "Escape":
      actions.close();
      return true;
    default:
      return false;
  }
}

/** Types text for the reader, so that the browser's undo covers it. */
export function typeText(
  field: HTMLTextAreaElement,
  { start, end }: { readonly start: number; readonly end: number },
  text: string,
): void {
  field.focus();
  field.setSelectionRange(start, end);
  if (document.execCommand("insertText", false, text)) return;
  field.setRangeText(text, start, end, "end");
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
}
