import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { faultMessage } from "../api/client.ts";
import { NameText } from "../text/pieces.tsx";
import type { FieldRecord } from "../api/types.ts";
import { Icon } from "../controls/icons.tsx";
import { formatNumber } from "../text/numbers.ts";
import {
  COLUMN_FIELDS,
  hasColumn,
  moveColumn,
  resizeColumn,
  columnTitle,
  toggleColumn,
  columnWidth,
} from "../rows/columns.ts";
import type { ListColumn } from "../rows/columns.ts";
import "../../css/columns.css";
import "../../css/forms.css";
import { visibleText } from "../text/visible-text.ts";

export type ColumnsProperties = {
  readonly columns: readonly ListColumn[];
  /** Reads the fields of events, attributes with their `@`, with counts. @throws ApiFault */
  readonly readFields: () => Promise<readonly FieldRecord[]>;
  readonly onColumns: (columns: readonly ListColumn[]) => void;
};

const STEP = 16;

/** Lists the fields that are columns, in their order, then all others. */
export function ColumnChooser({ columns, readFields, onColumns }: ColumnsProperties): JSX.Element {
  const filter = useSignal("");
  const list = useRef<HTMLUListElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const fields = useSignal<readonly FieldRecord[] | null>(null);
  const fault = useSignal<string | null>(null);
  useEffect(() => search.current?.focus(), []);
  useEffect(() => {
    readFields().then(
      (read) => (fields.value = read),
      (error: unknown) => (fault.value = faultMessage(error)),
    );
  }, []);
  const counts = new Map(fields.value?.map(({ name, count }) => [name, Number(count)]));
  const attributes = [...counts.keys()].filter((name) => name.startsWith("@"));
  const chosen = columns.map(({ name }) => name);
  const others = [...COLUMN_FIELDS, ...attributes].filter((name) => !hasColumn(columns, name));
  const wanted = filter.value.toLowerCase();
  const names = [...chosen, ...others].filter((name) => name.toLowerCase().includes(wanted));
  const onKeyDown = (event: KeyboardEvent, name: string): void => {
    const next = changed(event, name, columns) ?? null;
    if (next !== null) onColumns(next);
    else if (!moveFocus(event, list.current)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <input
        ref={search}
        class="in"
        type="search"
        placeholder="Find a field"
        aria-label="Find a field"
        value={filter}
        onInput={(event) => (filter.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") list.current?.querySelector("button")?.focus();
        }}
      />
      <ul ref={list} aria-label="Fields">
        {names.map((name) => (
          <li key={name}>
            <button
              type="button"
              role="checkbox"
              aria-checked={hasColumn(columns, name)}
              onClick={() => onColumns(toggleColumn(columns, name))}
              onKeyDown={(event) => onKeyDown(event, name)}
            >
              <span class="box">{hasColumn(columns, name) && <Icon name="tick" />}</span>
              <NameText text={columnTitle(name)} />
              {counts.has(name) && <span class="note num">{formatNumber(counts.get(name)!)}</span>}
            </button>
            {hasColumn(columns, name) && (
              <>
                <Step
                  label={`Move ${visibleText(name)} left`}
                  icon="sortUp"
                  act={() => onColumns(moveColumn(columns, name, -1))}
                />
                <Step
                  label={`Move ${visibleText(name)} right`}
                  icon="sortDown"
                  act={() => onColumns(moveColumn(columns, name, 1))}
                />
              </>
            )}
          </li>
        ))}
      </ul>
      <p class="note" role="status">
        {fault.value !== null
          ? `Attributes could not be read: ${fault.value}`
          : fields.value === null
            ? "Reading attributes…"
            : names.length === 0
              ? "No field of this name in the range."
              : ""}
      </p>
      <p class="note">Alt with arrows up and down moves a column, with left and right sets its width.</p>
    </>
  );
}

function Step({ label, icon, act }: { label: string; icon: "sortUp" | "sortDown"; act: () => void }): JSX.Element {
  return (
    <button class="quiet icon" type="button" tabIndex={-1} aria-label={label} title={label} onClick={act}>
      <Icon name={icon} />
    </button>
  );
}

/** Returns the columns after a key with Alt; null for other keys. */
function changed(
  { key, altKey }: KeyboardEvent,
  name: string,
  columns: readonly ListColumn[],
): readonly ListColumn[] | null {
  const column = columns.find((each) => each.name === name);
  if (!altKey || column === undefined) return null;
  if (key === "ArrowUp" || key === "ArrowDown") return moveColumn(columns, name, key === "ArrowUp" ? -1 : 1);
  if (key !== "ArrowLeft" && key !== "ArrowRight") return null;
  return resizeColumn(columns, name, columnWidth(column) + (key === "ArrowLeft" ? -STEP : STEP));
}

/** Moves the focus among the fields by arrow keys; returns whether it did. */
function moveFocus({ key, altKey }: KeyboardEvent, list: HTMLElement | null): boolean {
  if (altKey || (key !== "ArrowUp" && key !== "ArrowDown")) return false;
  const all = [...(list?.querySelectorAll<HTMLElement>("[role='checkbox']") ?? [])];
  const at = all.indexOf(document.activeElement as HTMLElement);
  all[at + (key === "ArrowDown" ? 1 : -1)]?.focus();
  return true;
}
