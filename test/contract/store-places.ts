import { pino } from "pino";

import { openDuckdbStore } from "../../src/store/duckdb/store.ts";
import { temporaryFolder } from "../support/temporary.ts";
import type { StorePlace } from "./store-fixture.ts";

const silent = pino({ level: "silent" });

const duckdb: StorePlace = {
  name: "DuckDB",
  keepsPositions: true,
  differentialRounds: 12,
  open: async (t) => {
    const folder = temporaryFolder(t);
    const store = await openDuckdbStore({
      file: `${folder}/events.duckdb`,
      log: silent,
      memoryLimit_mb: 256,
      threads: 2,
    });
    t.teardown(() => store[Symbol.asyncDispose]());
    return store;
  },
};

/** Every adapter of the store port that this run can reach: a new one is one line. */
export const storePlaces: readonly StorePlace[] = [duckdb];
