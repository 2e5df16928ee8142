import type { JSX } from "preact";

import { faultMessage } from "../api/client.ts";
import { formatNumber } from "../text/numbers.ts";
import type { TimeOrder } from "../rows/question.ts";
import type { RowSource } from "../rows/row-source.ts";

/** The last line of a list: all is shown, more is loading, or loading failed. */
export function EndOfList(properties: {
  readonly source: RowSource;
  readonly order: TimeOrder;
  /** Whether the query limits its results by TAKE or SKIP. */
  readonly isPart?: boolean;
}): JSX.Element {
  const { source, order, isPart = false } = properties;
  const fault = source.fault.value;
  const further = order === "desc" ? "older" : "newer";
  if (fault !== null) {
    return (
      <span role="alert">
        {`${order === "desc" ? "Older" : "Newer"} events could not be loaded: ${faultMessage(fault)}. `}
        <button class="link" type="button" onClick={() => source.retry()}>
          Try again
        </button>
      </span>
    );
  }
  if (!source.isComplete.value) return <span>{`Loading ${further} events…`}</span>;
  const count = source.length.value;
  if (count === 0) return <span>No events match.</span>;
  if (isPart) {
    const part =
      count === 1
        ? "The one event that the query takes is"
        : `The ${formatNumber(count)} events that the query takes are`;
    return <span>{`End of the list. ${part} shown.`}</span>;
  }
  const all = count === 1 ? "The one event is shown." : `All ${formatNumber(count)} events are shown.`;
  return <span>{`End of the range. ${all}`}</span>;
}
