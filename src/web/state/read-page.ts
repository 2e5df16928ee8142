import type { Client } from "../parts/api/client.ts";
import type { EventRecord } from "../parts/api/types.ts";
import type { Run } from "./search.ts";
import type { ReadPage } from "../parts/rows/paged-rows.ts";
import { rowOfRecord } from "../parts/rows/row.ts";

/** Returns a reader of pages. Cancelling the run ends the first read; the list ends the others. */
export function pageReaderOfRun(client: Client, run: Run): ReadPage {
  let isFirst = true;
  return async (query, own) => {
    const signal = isFirst ? AbortSignal.any([own, run.signal]) : own;
    const { body } = await client.request<readonly EventRecord[]>(`/1/logs/${run.log}/query`, {
      query: { query, tz: run.zone, attributes: true },
      signal,
    });
    isFirst = false;
    return body.map(rowOfRecord);
  };
}
