import type { JSX } from "preact";

import type { ResultListProperties } from "../../state/results.ts";
import { lazy } from "../../parts/controls/lazy.tsx";
import { ListFault } from "../../state/faults/list-fault.tsx";
import type { MissingEventProperties } from "./missing-event.tsx";
import type { NothingFoundProperties } from "./nothing-found.tsx";
import { SlowNote } from "../../state/faults/slow-note.tsx";

const MissingEvent = lazy<MissingEventProperties>(async () => (await import("./missing-event.tsx")).MissingEvent);
const NothingFound = lazy<NothingFoundProperties>(async () => (await import("./nothing-found.tsx")).NothingFound);

export type ListStateProperties = ResultListProperties & {
  readonly isAsking: boolean;
  /** Whether the request takes long. */
  readonly isSlow: boolean;
  /** Whether the last run found nothing. */
  readonly isEmpty: boolean;
};

/** Explains, below the list or in place of an empty one, why it differs from the request. */
export function ListState({ app, search, results, isAsking, isSlow, isEmpty }: ListStateProperties): JSX.Element {
  const fault = results.fault.value;
  const shown = results.shown.value;
  const named = isEmpty ? app.location.place.value.parameters.get("open") : undefined;
  const missing = results.missing.value ?? named ?? null;
  const common = { app, search };
  return (
    <>
      {fault === null && isSlow && <SlowNote {...common} />}
      {fault !== null && (
        <ListFault
          {...common}
          fault={fault}
          isAsking={isAsking}
          loaded_ms={shown === null || isEmpty ? null : shown.at_ms}
          onRetry={search.again}
          onCancel={() => results.cancel()}
        />
      )}
      {missing !== null && <MissingEvent key={missing} {...common} results={results} id={missing} />}
      {shown !== null && isEmpty && <NothingFound key={shown.run.number} {...common} run={shown.run} />}
    </>
  );
}
