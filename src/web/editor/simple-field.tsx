import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { Ask } from "../ask/compose.ts";
import { readAsk, withoutFilter } from "../ask/compose.ts";
import { simpleOf, typedChip, withTyped } from "../ask/simple.ts";
import type { Chip, Simple } from "../ask/simple.ts";
import { Icon } from "../parts/icons.tsx";
import type { Search } from "../state/search.ts";
import "../css/simple.css";

/** Reports whether simple mode can show a query. */
export function canShow(query: string): boolean {
  const ask = readAsk(query);
  return ask !== null && simpleOf(ask) !== null;
}

type SimpleFieldProperties = {
  readonly search: Search;
  /** Whether the reader has just chosen simple mode, so that the field takes the focus. */
  readonly takesFocus: { current: boolean };
  /** Called when the query can no longer be shown in simple mode. */
  readonly onTooRich: () => void;
};

/** A query in simple mode. */
export function SimpleField({ search, takesFocus, onTooRich }: SimpleFieldProperties): JSX.Element | null {
  const ask = readAsk(search.query.value);
  const simple = ask === null ? null : simpleOf(ask);
  useEffect(() => {
    if (simple === null) onTooRich();
  }, [simple === null]);
  return ask === null || simple === null ? null : (
    <Conditions search={search} takesFocus={takesFocus} ask={ask} simple={simple} />
  );
}

type ConditionsProperties = Pick<SimpleFieldProperties, "search" | "takesFocus"> & {
  readonly ask: Ask;
  readonly simple: Simple;
};

/** Chips, one per condition, and a box for words and further conditions. */
function Conditions({ search, takesFocus, ask, simple }: ConditionsProperties): JSX.Element {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
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
    const typed = box.current?.value ?? "";
    if (typed !== text.current) search.query.value = withTyped(ask, typed);
    if (box.current !== null) box.current.value = text.current = textOf(search.query.peek());
  };
  useEffect(() => {
    const form = box.current?.form;
    form?.addEventListener("submit", take, true);
    return () => form?.removeEventListener("submit", take, true);
  });
  const remove = (chip: Chip) => {
    search.query.value = withoutFilter(ask, chip.filter);
    search.start();
    box.current?.focus();
  };
  const edit = (chip: Chip) => {
    const typed = typedChip(chip);
    if (typed === "" || box.current === null) return;
    search.query.value = withoutFilter(ask, chip.filter);
    box.current.value = `${typed} ${box.current.value}`.trim();
    box.current.focus();
  };
  return (
    <div class="chips" role="group" aria-label="Conditions">
      {simple.chips.map((chip) => (
        <ChipView key={chip.filter.span.start} chip={chip} onEdit={() => edit(chip)} onRemove={() => remove(chip)} />
      ))}
      <input
        ref={box}
        aria-label="Text contains"
        placeholder="Text contains…"
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
  const ask = readAsk(query);
  return (ask === null ? null : simpleOf(ask))?.text ?? "";
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
