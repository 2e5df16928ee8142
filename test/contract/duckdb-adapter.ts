import { pino } from "pino";

import { openDuckdbStore } from "../../src/store/duckdb/store.ts";
import { QUERY_TIMEOUT_MS } from "../support/elasticsearch.ts";
import { temporaryFolder } from "../support/temporary.ts";
import type { StoreAdapter } from "./store-fixture.ts";

export const DUCKDB = adapter("DuckDB", { isPlain: false, differentialRounds: 12 });
/** DuckDB without any trick for speed. */
export const PLAIN_DUCKDB = adapter("plain DuckDB", { isPlain: true, differentialRounds: 4 });

function adapter(
  name: string,
  { isPlain, differentialRounds }: { readonly isPlain: boolean; readonly differentialRounds: number },
): StoreAdapter {
  const open: StoreAdapter["open"] = async (t, listedAttributes) => {
    const folder = temporaryFolder(t);
    const store = await openDuckdbStore({
      file: `${folder}/events.duckdb`,
      log: pino({ level: "silent" }),
      memoryLimit_mb: 256,
      threads: 2,
      readTimeout_ms: QUERY_TIMEOUT_MS,
      // Gives attributes columns with the few events of a test.
      countedEvents: 5,
      // Puts the events into blocks.
      blockRows: 8,
      // Computes groups by time from sums.
      summedEvents: 0,
      listedAttributes,
      isPlain: () => isPlain,
    });
    t.teardown(() => store[Symbol.asyncDispose]());
    return store;
  };
  return { name, keepsPositions: true, differentialRounds, open };
}
