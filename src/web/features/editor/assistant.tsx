import { batch, useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX, RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";

import "../../css/complete.css";
import { Icon } from "../../parts/controls/icons.tsx";
import { cancelOrLeave } from "../../state/leave-query.ts";
import type { DescribedFault } from "./check.ts";
import { createCompletionSource } from "./completion-source.ts";
import type { AssistantProperties } from "./assistance.ts";
import type { Completion } from "./completions.ts";
import { typeText, useCompletions } from "./use-completions.ts";
import type { Completing, OpenCompletions } from "./use-completions.ts";

/** Delay before a fault is announced, in milliseconds, so that not every key announces one. */
const ANNOUNCE_MS = 800;
/** Most characters of typed words that an offer repeats. */
const SHOWN = 60;
export { checkQuery } from "./check.ts";

/** Shows completions and faults of the typed query. It changes the text only on request. */
export function Assistant(properties: AssistantProperties): JSX.Element | null {
  const { app, search, field, fault, id } = properties;
  const isFocused = useSignal(document.activeElement === field);
  /** The texts whose fault was dismissed, and whose unfinished end was run anyway. */
  const dismissed = useSignal<string | null>(null);
  const submitted = useSignal<string | null>(null);
  const root = useRef<HTMLDivElement>(null);
  const run = search.run.value;
  const source = useMemo(() => createCompletionSource(app.client, search.log, run.moments), [run.number]);
  const completing = useCompletions(properties, source);
  const { open, accept } = completing;

  const wasSubmitted = submitted.value === search.query.value;
  const shown = fault.value !== null && wasSubmitted ? { ...fault.value, isUnfinished: false } : fault.value;
  const spoken = useLate(shown === null ? "" : spokenText(shown));
  useEffect(() => listenToField({ properties, completing, isFocused, dismissed, submitted, root }), [source]);
  useEffect(() => {
    if (open.value !== null && root.current !== null) place(root.current, field, open.value.context.span.start);
    root.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  });

  const line = isFocused.value && dismissed.value !== search.query.value ? shown : null;
  return (
    <>
      <p class="sr" role="status">
        {spoken}
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
              onFix={(fix) => typeText(field, line.span, fix)}
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

function spokenText({ isWords, isUnfinished, words }: DescribedFault): string {
  if (isWords) return "Enter searches the text for these words";
  return isUnfinished ? "" : words;
}

/** Returns a text once it has not changed for a while. */
function useLate(text: string): string {
  const late = useSignal("");
  useEffect(() => {
    const timer = setTimeout(() => (late.value = text), ANNOUNCE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return late.value;
}

/** Reacts to events of the field and its form. Returns a function that ends this. */
function listenToField(of: {
  readonly properties: AssistantProperties;
  readonly completing: Completing;
  readonly isFocused: Signal<boolean>;
  readonly dismissed: Signal<string | null>;
  readonly submitted: Signal<string | null>;
  readonly root: RefObject<HTMLDivElement | null>;
}): () => void {
  const { completing, isFocused, dismissed, submitted, root } = of;
  const { search, field, fault } = of.properties;
  const { open, suggest, close } = completing;
  const dismissOrCancel = (event: KeyboardEvent) => {
    event.stopPropagation();
    const text = search.query.peek();
    const isRun = text === search.run.peek().typed;
    // Text that was not run yet is left only by a second press.
    if ((fault.peek() !== null || !isRun) && dismissed.peek() !== text) dismissed.value = text;
    else cancelOrLeave(search);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (completing.actOnKey(event)) event.preventDefault();
    else if (event.key === "Escape") dismissOrCancel(event);
  };
  const onInput = (event: Event) => {
    if (!(event instanceof InputEvent && event.isComposing)) suggest(false);
  };
  const onSelection = () => {
    const span = open.peek()?.context.span;
    if (span !== undefined && (field.selectionStart < span.start || field.selectionEnd > span.end)) close();
  };
  const onBlur = ({ relatedTarget }: FocusEvent) => {
    if (relatedTarget instanceof Node && root.current?.contains(relatedTarget)) return;
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
  const over = new AbortController();
  const { signal } = over;
  field.addEventListener("keydown", onKey, { capture: true, signal });
  field.addEventListener("input", onInput, { signal });
  document.addEventListener("selectionchange", onSelection, { signal });
  field.addEventListener("focus", () => (isFocused.value = true), { signal });
  field.addEventListener("blur", onBlur, { signal });
  field.form?.addEventListener("submit", onSubmit, { capture: true, signal });
  return () => over.abort();
}

function Options({
  id,
  open,
  onAccept,
}: {
  id: string;
  open: OpenCompletions;
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
