import type { Client } from "../api/client.ts";
import type { EventRecord } from "../api/types.ts";
import type { Run } from "../state/search.ts";
import type { ReadPage } from "./paged-rows.ts";
import { rowOf } from "./row.ts";

/** Asks for pages of a run. The first one ends with the run, the others with the list that shows them. */
export function readerOf(client: Client, run: Run): ReadPage {
  let isFirst = true;
  return async (query, own) => {
    const signal = isFirst ? AbortSignal.any([own, run.signal]) : own;
    const { body } = await client.ask<readonly EventRecord[]>(`/1/logs/${run.log}/query`, {
      query: { query, tz: run.zone, attributes: true },
      signal,
    });
    isFirst = false;
    return body.map(rowOf);
  };
}
