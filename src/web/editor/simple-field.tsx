import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { Ask } from "../ask/compose.ts";
import { readAsk, withoutFilter } from "../ask/compose.ts";
import { simpleOf, typedChip, withTyped } from "../ask/simple.ts";
import type { Chip, Simple } from "../ask/simple.ts";
import { Icon } from "../parts/icons.tsx";
import type { Search } from "../state/search.ts";
import "../css/simple.css";

/** Whether a query can be shown so. */
export function canShow(query: string): boolean {
  const ask = readAsk(query);
  return ask !== null && simpleOf(ask) !== null;
}

type SimpleFieldProperties = {
  readonly search: Search;
  /** Whether a person has just asked for it, and goes on to type. */
  readonly takesFocus: { current: boolean };
  /** Called where the query becomes one that this cannot show. */
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

/** Chips, one for each condition, and a box for words and further conditions. */
function Conditions({ search, takesFocus, ask, simple }: ConditionsProperties): JSX.Element {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (takesFocus.current) box.current?.focus();
    takesFocus.current = false;
  }, []);
  const text = useRef(simple.text);
  // What the query says stands in the box, unless a person is about to say more.
  useEffect(() => {
    if (box.current !== null && text.current !== simple.text) box.current.value = simple.text;
    text.current = simple.text;
  }, [simple.text]);
  /** The query with what stands in the box. */
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

/** Enter edits it, Delete takes it away. */
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
