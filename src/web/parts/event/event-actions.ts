import type { ReadonlySignal } from "@preact/signals";

import type { ListColumn } from "../rows/columns.ts";
import type { MenuPlace } from "../list/control.ts";
import type { ListedEvent } from "../rows/row.ts";
import type { CopyForm } from "./copy.ts";
import type { DetailValue, ValueAction } from "./details.ts";
import type { OpenState } from "./memory.ts";

/** Actions on an open event, provided by the view that shows it. */
export type EventActions = {
  readonly isBookmarked: (row: ListedEvent) => boolean;
  readonly bookmark: (row: ListedEvent) => void;
  readonly copy: (form: CopyForm, row: ListedEvent) => void;
  readonly copyLink: (row: ListedEvent) => void;
  readonly copyValue: (value: string) => void;
  /** null if the event is already shown among its neighbours. */
  readonly context: ((row: ListedEvent) => void) | null;
  /** null if the reader may not edit classes. */
  readonly makeClass: ((row: ListedEvent) => void) | null;
  /** Shows the events with the same pattern; null if there is no query to change. */
  readonly showAlike: ((row: ListedEvent) => void) | null;
  /** Runs the action of a value, except copying; null if values can only be copied. */
  readonly onValue: ((action: ValueAction, field: string, value: DetailValue) => void) | null;
  readonly isColumn: (field: string) => boolean;
  readonly readData: (row: ListedEvent) => Promise<string>;
  /** Returns a one-time address that shows the data as a page. */
  readonly openPage: (row: ListedEvent) => Promise<string>;
  readonly countAlike: (row: ListedEvent) => Promise<number>;
};

/** Formats of moments, classes and matches. */
export type EventFormats = {
  readonly moment: (ms: number) => string;
  readonly className: (key: string) => string;
  readonly needles: ReadonlyMap<string, readonly string[]>;
  /** Increases when bookmarks change. */
  readonly changes: ReadonlySignal<unknown>;
};

/** Properties of the menu of a cell. */
export type CellMenuProperties = {
  readonly row: ListedEvent;
  readonly place: MenuPlace;
  readonly columns: readonly ListColumn[];
  readonly actions: EventActions;
  readonly formats: EventFormats;
  readonly onClose: (returnsFocus?: boolean) => void;
};

export type OpenEventProperties = {
  readonly row: ListedEvent;
  readonly state: OpenState;
  readonly actions: EventActions;
  readonly formats: EventFormats;
};
