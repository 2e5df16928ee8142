import pino from "pino";
import { join } from "node:path";

import { createApi } from "../../src/api/api.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { createCatalog } from "../../src/catalog/create.ts";
import { openSqliteDocuments } from "../../src/catalog/documents/sqlite.ts";
import { openDuckdbStore } from "../../src/store/duckdb/store.ts";
import type { Store } from "../../src/store/store.ts";

/** A service that scenarios talk to. What a scenario has before its first step is put there through the ports. */
export type Service = {
  /** `http://host:port`, without a path. */
  readonly apiUrl: string;
  /** The same for posting; null where this service takes no posts. */
  readonly postUrl: string | null;
  readonly catalog: Catalog;
  readonly store: Store;
  /** Resolves once all that was written or posted before can be read. */
  settle(): Promise<void>;
  close(): Promise<void>;
};

/** One way of running the service. Every scenario runs, unchanged, on every engine. */
export type Engine = {
  readonly name: string;
  /** @param folder an empty one, of this service's own */
  start(folder: string): Promise<Service>;
};

const embedded: Engine = {
  name: "embedded",
  start: async (folder) => {
    const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });
    const documents = await openSqliteDocuments({ file: join(folder, "catalog.sqlite") });
    const catalog = await createCatalog({ documents, log });
    const store = await openDuckdbStore({ file: join(folder, "events.duckdb"), log, threads: 1 });
    const api = createApi({ catalog, store, log });
    const { host, port } = await api.listen({ host: "127.0.0.1", port: 0 });
    return {
      apiUrl: `http://${host}:${port}`,
      postUrl: null,
      catalog,
      store,
      settle: () => store.refresh(),
      close: async () => {
        await api.close();
        await store[Symbol.asyncDispose]();
        await catalog[Symbol.asyncDispose]();
      },
    };
  },
};

export const ENGINES: readonly Engine[] = [embedded];
