import type { JSX } from "preact";

import { lazy } from "../controls/lazy.tsx";
import { rowById } from "../rows/row-source.ts";
import type { RowSource } from "../rows/row-source.ts";
import type { EventActions, EventFormats, OpenEventProperties } from "./event-actions.ts";
import type { OpenStates } from "./memory.ts";

/** Loads the code of an open event. */
export const loadOpenEvent = async () => (await import("./open-event.tsx")).OpenEvent;
const OpenEvent = lazy<OpenEventProperties>(loadOpenEvent);

type OpenedEventProperties = {
  readonly id: string;
  readonly states: OpenStates;
  readonly source: RowSource;
  readonly actions: EventActions;
  readonly formats: EventFormats;
};

/** An open event of a list. */
export function OpenedEvent({ id, states, source, actions, formats }: OpenedEventProperties): JSX.Element | null {
  void source.version.value;
  const row = rowById(source, id);
  return row === undefined ? null : <OpenEvent row={row} state={states.of(row)} actions={actions} formats={formats} />;
}
