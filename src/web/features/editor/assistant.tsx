import { batch, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";

import "../../css/complete.css";
import { Icon } from "../../parts/controls/icons.tsx";
import { cancelOrLeave } from "../../state/leave-query.ts";
import type { DescribedFault } from "./check.ts";
import { completionContextAt } from "./completion-context.ts";
import type { CompletionContext } from "./completion-context.ts";
import { createCompletionSource } from "./completion-source.ts";
import type { AssistantProperties } from "./assistance.ts";
import { NO_COMPLETION_DATA, insertion, completionsFor } from "./completions.ts";
import type { Completion } from "./completions.ts";

/** Delay before a fault is announced, in milliseconds, so that not every key announces one. */
const ANNOUNCE_MS = 800;
/** Most characters of typed words that an offer repeats. */
const SHOWN = 60;
/** Delay after the last key before completion data is requested, in milliseconds. */
const ASK_MS = 120;

export { checkQuery } from "./check.ts";

type Open = {
  readonly context: CompletionContext;
  readonly completions: readonly Completion[];
  readonly chosen: number;
};

/** Shows completions and faults of the typed query. It changes the text only on request. */
export function Assistant({ app, search, field, fault, active, id }: AssistantProperties): JSX.Element | null {
  const open = useSignal<Open | null>(null);
  const isFocused = useSignal(document.activeElement === field);
  /** The texts whose fault was dismissed, and whose unfinished end was run anyway. */
  const dismissed = useSignal<string | null>(null);
  const submitted = useSignal<string | null>(null);
  const spoken = useSignal("");
  const root = useRef<HTMLDivElement>(null);
  const run = search.run.value;
  const source = useMemo(() => createCompletionSource(app.client, search.log, run.moments), [run.number]);
  const asked = useRef(0);

  const found = fault.value;
  const wasSubmitted = submitted.value === search.query.value;
  const shown = found !== null && wasSubmitted ? { ...found, isUnfinished: false } : found;
  const words =
    shown === null
      ? ""
      : shown.isWords
        ? "Enter searches the text for these words"
        : shown.isUnfinished
          ? ""
          : shown.words;
  useEffect(() => {
    const timer = setTimeout(() => (spoken.value = words), ANNOUNCE_MS);
    return () => clearTimeout(timer);
  }, [words]);

  const setOpen = (next: Open | null) =>
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
  /** @param isAsked whether completions are requested although no part of a word is typed */
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
    type(field, span.start, span.end, insert);
    // The next word often needs completion too.
    if (/[\s(]$/.test(insert)) suggest(true);
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.isComposing) return;
      const acted = actOnKey(event, open.peek(), {
        suggest: () => suggest(true),
        choose: (chosen) => setOpen({ ...open.peek()!, chosen }),
        accept,
        close,
      });
      if (!acted && event.key === "Escape") dismissOrCancel(event);
      if (acted) event.preventDefault();
    };
    const dismissOrCancel = (event: KeyboardEvent) => {
      event.stopPropagation();
      const text = search.query.peek();
      const isRun = text === search.run.peek().typed;
      // Text that was not run yet is left only by a second press.
      if ((fault.peek() !== null || !isRun) && dismissed.peek() !== text) dismissed.value = text;
      else cancelOrLeave(search);
    };
    const onInput = (event: Event) => {
      if (!(event instanceof InputEvent && event.isComposing)) suggest(false);
    };
    const onSelection = () => {
      const context = open.peek()?.context;
      if (context !== undefined && (field.selectionStart < context.span.start || field.selectionEnd > context.span.end))
        close();
    };
    const onFocus = () => (isFocused.value = true);
    const onBlur = (event: FocusEvent) => {
      if (event.relatedTarget instanceof Node && root.current?.contains(event.relatedTarget)) return;
      isFocused.value = false;
      close();
    };
    const onSubmit = (event: Event) => {
      close();
      const at = fault.peek();
      if (at === null) return;
      if (at.isWords && at.search !== null) {
        // The form then submits this query.
        search.query.value = at.search;
        return;
      }
      event.preventDefault();
      event.stopPropagation();
      batch(() => {
        dismissed.value = null;
        submitted.value = search.query.peek();
      });
      field.focus();
    };
    const { form } = field;
    field.addEventListener("keydown", onKey, true);
    field.addEventListener("input", onInput);
    document.addEventListener("selectionchange", onSelection);
    field.addEventListener("focus", onFocus);
    field.addEventListener("blur", onBlur);
    form?.addEventListener("submit", onSubmit, true);
    return () => {
      field.removeEventListener("keydown", onKey, true);
      field.removeEventListener("input", onInput);
      document.removeEventListener("selectionchange", onSelection);
      field.removeEventListener("focus", onFocus);
      field.removeEventListener("blur", onBlur);
      form?.removeEventListener("submit", onSubmit, true);
    };
  }, [source]);
  useEffect(() => {
    if (open.value !== null && root.current !== null) place(root.current, field, open.value.context.span.start);
    root.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  });

  const line = isFocused.value && dismissed.value !== search.query.value ? shown : null;
  return (
    <>
      <p class="sr" role="status">
        {spoken.value}
      </p>
      {(open.value !== null || line !== null) && (
        <div
          ref={root}
          class="pop complete"
          // Keeps the focus in the field.
          onPointerDown={(event) => event.preventDefault()}
        >
          {open.value !== null && <Options id={id} open={open.value} onAccept={accept} />}
          {line !== null && (
            <FaultLine
              id={`${id}-fault`}
              fault={line}
              typed={search.query.value.trim()}
              onFix={(fix) => type(field, line.span.start, line.span.end, fix)}
              onSearch={(query) => {
                search.query.value = query;
                search.start();
              }}
            />
          )}
        </div>
      )}
    </>
  );
}

/** Handles a key of the completions; returns whether it did. Enter accepts only a chosen one. */
function actOnKey(
  { key, ctrlKey, altKey, shiftKey, metaKey }: KeyboardEvent,
  open: Open | null,
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

function Options({
  id,
  open,
  onAccept,
}: {
  id: string;
  open: Open;
  onAccept: (completion: Completion) => void;
}): JSX.Element {
  return (
    <ul id={`${id}-options`} role="listbox" aria-label="Completions">
      {open.completions.map((completion, i) => (
        <li
          id={`${id}-${i}`}
          key={completion.label}
          role="option"
          aria-selected={i === open.chosen}
          onClick={() => onAccept(completion)}
        >
          <code>{completion.label}</code>
          <span class="hint">{completion.hint}</span>
        </li>
      ))}
    </ul>
  );
}

function FaultLine(properties: {
  readonly id: string;
  readonly fault: DescribedFault;
  readonly typed: string;
  readonly onFix: (fix: string) => void;
  readonly onSearch: (query: string) => void;
}): JSX.Element {
  const { id, fault, typed, onFix, onSearch } = properties;
  const { fix, search } = fault;
  const offer = search !== null && (
    <button class="link" type="button" onClick={() => onSearch(search)}>
      Search the text for “{typed.length > SHOWN ? `${typed.slice(0, SHOWN)}…` : typed}”
    </button>
  );
  if (fault.isWords) {
    return (
      <p class="fault unfinished" id={id}>
        <Icon name="find" />
        <span>{offer}</span>
        <kbd>Enter</kbd>
      </p>
    );
  }
  return (
    <p class={fault.isUnfinished ? "fault unfinished" : "fault"} id={id}>
      <Icon name={fault.isUnfinished ? "info" : "warning"} />
      <span>{fault.words}</span>
      {fix !== null && (
        <button class="link" type="button" onClick={() => onFix(fix)}>
          Use {fix}
        </button>
      )}
      {offer}
    </p>
  );
}

/** Types text for the reader, so that the browser's undo covers it. */
function type(field: HTMLTextAreaElement, start: number, end: number, text: string): void {
  field.focus();
  field.setSelectionRange(start, end);
  if (document.execCommand("insertText", false, text)) return;
  field.setRangeText(text, start, end, "end");
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
}

/** Places the popover below the word at `offset`, as the highlighted copy of the text shows it. */
function place(popover: HTMLElement, field: HTMLElement, offset: number): void {
  const shade = field.parentElement?.querySelector(".shade");
  const box = popover.offsetParent;
  if (shade === null || shade === undefined || box === null) return;
  let rest = offset;
  const texts = document.createTreeWalker(shade, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const length = node.nodeValue?.length ?? 0;
    if (rest <= length) {
      const range = document.createRange();
      range.setStart(node, rest);
      const left = range.getBoundingClientRect().left - box.getBoundingClientRect().left;
      popover.style.setProperty("--at", `${Math.max(0, Math.round(left) - 13)}px`);
      return;
    }
    rest -= length;
  }
}
