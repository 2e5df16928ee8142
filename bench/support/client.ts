import { Agent, request } from "node:http";

import { API_KEY, LOG } from "./events.ts";

const agent = new Agent({ keepAlive: true });

/** `total` is NaN if the service did not count all records. */
export type Answer = { readonly total: number; readonly body: string };

/**
 * Sends a GET request for `path` below `/1/logs/bench` with the log's key. Resolves when the
 * response is complete.
 */
export function ask(port: number, path: string, parameters: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return get(port, `/1/logs/${LOG}${path}`, { ...parameters, apikey: API_KEY });
}

/** Sends a GET request. Resolves when the response is complete. @throws Error if it is not 200 */
export function get(port: number, path: string, parameters: Readonly<Record<string, string>>): Promise<Answer> {
  const query = new URLSearchParams(parameters).toString();
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const asked = request({ port, host: "127.0.0.1", agent, path: `${path}?${query}` }, (response) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("error", reject);
    response.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8");
      if (response.statusCode === 200) resolve({ total: Number(response.headers["x-total-count"] ?? NaN), body });
      else reject(new Error(`${path} returned status ${response.statusCode}: ${body}`));
    });
  });
  asked.on("error", reject);
  asked.end();
  return promise;
}

/** Whether the log contains an event. */
export async function isFound(port: number, id: string): Promise<boolean> {
  return ask(port, `/events/${id}`).then(
    () => true,
    (error: unknown) => {
      if (String(error).includes("returned status 404")) return false;
      throw error;
    },
  );
}

/** Returns the number of events in the log, according to a list. */
async function countEvents(port: number): Promise<number> {
  return (await ask(port, "/events", { pagesize: "1", total: "exact" })).total;
}

/**
 * Waits until the log contains `count` events. Retries while the service cannot answer.
 * @throws Error if it contains more, or not enough after `timeout_ms`, by default two minutes
 */
export async function waitForEvents(port: number, count: number, timeout_ms = 120_000): Promise<void> {
  const deadline_ms = performance.now() + timeout_ms;
  for (;;) {
    const now = await countEvents(port).catch(() => NaN);
    if (now === count) return;
    if (now > count) throw new Error(`the log has ${now} events, more than the ${count} that were posted`);
    if (performance.now() > deadline_ms)
      throw new Error(`the log has ${now} of ${count} events after ${timeout_ms / 1000} s`);
    // Each check burdens the service. Checks are more frequent near the end, to catch its time.
    await new Promise((resolve) => setTimeout(resolve, now > 0.9 * count ? 20 : 100));
  }
}
