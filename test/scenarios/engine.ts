import pino from "pino";

import { startLoggia } from "../../src/main.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { readSettings } from "../../src/settings.ts";
import { TRICKS } from "../../src/settings/plain.ts";
import type { Store } from "../../src/store/store.ts";
import { postTimesFor, settled } from "../support/service.ts";

/** A service for scenarios. The initial records of a scenario are created through its ports. */
export type Service = {
  /** `http://host:port`, without a path. */
  readonly apiUrl: string;
  /** The same, for posting. */
  readonly postUrl: string;
  readonly catalog: Catalog;
  readonly store: Store;
  /** Resolves once everything written or posted before can be read. */
  settle(): Promise<void>;
  close(): Promise<void>;
};

/** A way of running the service. Every scenario runs unchanged on every engine. */
export type Engine = {
  readonly name: string;
  /**
   * Starts the service.
   * @param folder an empty folder for this service
   */
  start(folder: string): Promise<Service>;
};

/**
 * Returns the engine with these settings.
 * @param environment the settings that choose the engines
 */
export function engineWith(name: string, environment: () => NodeJS.ProcessEnv): Engine {
  return {
    name,
    start: async (folder) => {
      const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });
      const addresses = { LOGGIA_API: "127.0.0.1:0", LOGGIA_POST: "127.0.0.1:0", LOGGIA_DATA: folder };
      // All scenarios ask at once, so none waits for the queries of others, which has a limit.
      const rates = { LOGGIA_RATE_QUERIES_ALL: "1000" };
      const settings = readSettings({ ...addresses, ...rates, ...environment() });
      const loggia = await startLoggia(settings, log, postTimesFor(settings));
      const { api, post, ports } = loggia;
      return {
        apiUrl: `http://127.0.0.1:${api?.port}`,
        postUrl: `http://127.0.0.1:${post?.port}`,
        catalog: ports.catalog,
        store: ports.store,
        settle: () => settled(loggia),
        close: () => loggia.close(),
      };
    },
  };
}

export const EMBEDDED = engineWith("embedded", () => ({}));
/** Embedded engines without any trick for speed. */
export const PLAIN = engineWith("plain embedded", () => ({ LOGGIA_PLAIN: TRICKS.join(",") }));
