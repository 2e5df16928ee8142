import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { EditableQuery } from "../../parts/query/compose.ts";
import { readQuery, withoutFilter } from "../../parts/query/compose.ts";
import { mayBeWords, searchFor, simpleOfQuery, typedChip, withTyped } from "../../parts/query/simple.ts";
import type { Chip, SimpleQuery } from "../../parts/query/simple.ts";
import { Icon } from "../../parts/controls/icons.tsx";
import { STANDARD_QUERY } from "../../state/search.ts";
import type { Search } from "../../state/search.ts";
import { SIMPLE_HINT, SIMPLE_LABEL } from "./simple-label.ts";
import "../../css/simple.css";

export { searchFor } from "../../parts/query/simple.ts";

/** Reports whether simple mode can show a query. */
export function canShow(query: string): boolean {
  const parsed = readQuery(query);
  return parsed !== null && simpleOfQuery(parsed) !== null;
}

/**
 * Returns the query that simple mode shows instead of a typed one, which is the same but for words
 * that are no query yet; and why it shows none, "" if it does.
 */
export function fitting(query: string): { readonly query: string; readonly note: string } {
  const typed = readQuery(query) === null && mayBeWords(query) ? searchFor(query) : query;
  const read = query.trim() === "" ? STANDARD_QUERY : typed;
  const parsed = readQuery(read);
  if (parsed === null) return { query, note: "Simple mode cannot show this query: it has a fault." };
  if (simpleOfQuery(parsed) !== null) return { query: read, note: "" };
  return { query, note: "Simple mode cannot show this query: it has more than conditions of one field each." };
}

export type SimpleFieldProperties = {
  readonly search: Search;
  /** Whether the reader has just chosen simple mode, so that the field takes the focus. */
  readonly takesFocus: { current: boolean };
  /** What was typed before this field was there. */
  readonly typed: { current: string };
  /** Called when the query can no longer be shown in simple mode. */
  readonly onTooRich: () => void;
};

/** A query in simple mode. */
export function SimpleField({ search, takesFocus, typed, onTooRich }: SimpleFieldProperties): JSX.Element | null {
  const parsed = readQuery(search.query.value);
  const simple = parsed === null ? null : simpleOfQuery(parsed);
  useEffect(() => {
    if (simple === null) onTooRich();
  }, [simple === null]);
  return parsed === null || simple === null ? null : (
    <Conditions search={search} takesFocus={takesFocus} typed={typed} parsed={parsed} simple={simple} />
  );
}

type ConditionsProperties = Pick<SimpleFieldProperties, "search" | "takesFocus" | "typed"> & {
  readonly parsed: EditableQuery;
  readonly simple: SimpleQuery;
};

/** Chips, one per condition, and a box for words and further conditions. */
function Conditions({ search, takesFocus, typed, parsed, simple }: ConditionsProperties): JSX.Element {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current !== null && typed.current !== "") box.current.value = typed.current;
    typed.current = "";
    if (takesFocus.current) box.current?.focus();
    takesFocus.current = false;
  }, []);
  const text = useRef(simple.text);
  // Updates the box only when the query's text changes, so that typed words stay.
  useEffect(() => {
    if (box.current !== null && text.current !== simple.text) box.current.value = simple.text;
    text.current = simple.text;
  }, [simple.text]);
  /** Moves the content of the box into the query. */
  const take = () => {
    const entered = box.current?.value ?? "";
    if (entered !== text.current) search.query.value = withTyped(parsed, entered);
    if (box.current !== null) box.current.value = text.current = textOf(search.query.peek());
  };
  useEffect(() => {
    const form = box.current?.form;
    form?.addEventListener("submit", take, true);
    return () => form?.removeEventListener("submit", take, true);
  });
  const remove = (chip: Chip) => {
    search.query.value = withoutFilter(parsed, chip.filter);
    search.start();
    box.current?.focus();
  };
  const edit = (chip: Chip) => {
    const entered = typedChip(chip);
    if (entered === "" || box.current === null) return;
    search.query.value = withoutFilter(parsed, chip.filter);
    box.current.value = `${entered} ${box.current.value}`.trim();
    box.current.focus();
  };
  return (
    <div class="chips" role="group" aria-label="Conditions">
      {simple.chips.map((chip) => (
        <ChipView key={chip.filter.span.start} chip={chip} onEdit={() => edit(chip)} onRemove={() => remove(chip)} />
      ))}
      <input
        ref={box}
        aria-label={SIMPLE_LABEL}
        placeholder={simple.chips.length === 0 ? SIMPLE_HINT : undefined}
        spellcheck={false}
        autocomplete="off"
        defaultValue={simple.text}
        onBlur={take}
        onKeyDown={(event) => {
          const { selectionStart, selectionEnd } = event.currentTarget;
          const last = simple.chips.at(-1);
          if (event.key === "Backspace" && selectionStart === 0 && selectionEnd === 0 && last !== undefined) edit(last);
        }}
      />
    </div>
  );
}

function textOf(query: string): string {
  const parsed = readQuery(query);
  return (parsed === null ? null : simpleOfQuery(parsed))?.text ?? "";
}

/** A chip of a condition: Enter edits it, Delete removes it. */
function ChipView({ chip, onEdit, onRemove }: { chip: Chip; onEdit: () => void; onRemove: () => void }): JSX.Element {
  const { field, verb, values } = chip;
  const words = [field, verb, values.join(", ")].join(" ").trim();
  return (
    <span class="chip">
      <button
        type="button"
        class="words"
        title={words}
        onClick={onEdit}
        onKeyDown={(event) => {
          if (event.key === "Delete" || event.key === "Backspace") onRemove();
        }}
      >
        {field} {verb} {values.length > 0 && <b>{values.join(", ")}</b>}
      </button>
      <button type="button" aria-label={`Remove ${words}`} onClick={onRemove}>
        <Icon name="close" />
      </button>
    </span>
  );
}
