import type { ReadonlySignal } from "@preact/signals";

import type { ListColumn } from "../list/columns.ts";
import type { MenuPlace } from "../list/control.ts";
import type { EventRow } from "../list/row.ts";
import type { CopyForm } from "./copy.ts";
import type { FactValue, ValueAct } from "./facts.ts";
import type { OpenState } from "./memory.ts";

/** What can be done with an open event, by whoever shows it. */
export type EventActs = {
  readonly isBookmarked: (row: EventRow) => boolean;
  readonly bookmark: (row: EventRow) => void;
  readonly copy: (form: CopyForm, row: EventRow) => void;
  readonly copyLink: (row: EventRow) => void;
  readonly copyValue: (value: string) => void;
  /** null where the event is shown among its neighbours already. */
  readonly context: ((row: EventRow) => void) | null;
  /** null where the reader may not set up classes. */
  readonly makeClass: ((row: EventRow) => void) | null;
  /** Shows the events with the same pattern; null where no query can be changed. */
  readonly showAlike: ((row: EventRow) => void) | null;
  /** What a value offers is done here, but for copying. null: values are copied only. */
  readonly onValue: ((act: ValueAct, field: string, value: FactValue) => void) | null;
  readonly isColumn: (field: string) => boolean;
  readonly readData: (row: EventRow) => Promise<string>;
  /** The address that shows its data as a page, for once. */
  readonly openPage: (row: EventRow) => Promise<string>;
  readonly countAlike: (row: EventRow) => Promise<number>;
};

/** How moments, classes and matches are shown. */
export type EventWords = {
  readonly moment: (ms: number) => string;
  readonly className: (key: string) => string;
  readonly needles: ReadonlyMap<string, readonly string[]>;
  /** Rises as bookmarks change. */
  readonly changes: ReadonlySignal<unknown>;
};

/** What the menu of a cell is given. */
export type CellMenuProperties = {
  readonly row: EventRow;
  readonly place: MenuPlace;
  readonly columns: readonly ListColumn[];
  readonly acts: EventActs;
  readonly words: EventWords;
  readonly onClose: (returnsFocus?: boolean) => void;
};

export type OpenEventProperties = {
  readonly row: EventRow;
  readonly state: OpenState;
  readonly acts: EventActs;
  readonly words: EventWords;
};
