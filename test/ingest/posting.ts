import type { ExecutionContext } from "ava";
import type { AddressInfo } from "node:net";
import { pino } from "pino";

import { DEFAULT_LIMITS } from "../../src/events/limits.ts";
import type { Idempotency } from "../../src/ingest/idempotency/idempotency.ts";
import { createPostListener } from "../../src/ingest/posting/listener.ts";
import { AUTHORIZATION, get, KEY, LOG } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { until } from "../support/until.ts";
import { Scheduler } from "../../src/scheduling/scheduler.ts";

/** An event as the API lists it. */
export type Listed = {
  readonly id: string;
  readonly text: string;
  readonly created: string;
  readonly source: string;
  readonly user: string;
  readonly link: string;
  readonly tags: readonly string[];
  readonly geo: unknown;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly data: unknown;
};

export type Posted = { readonly status: number; readonly headers: Headers; readonly text: string };

/**
 * Sends a body to the posting address, with the key of the first log unless the headers contain
 * one.
 */
export async function send(
  service: Pick<Service, "postUrl">,
  path: string,
  body: string | Uint8Array | null,
  { method = "POST", headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<Posted> {
  const hasKey = Object.keys(headers).some((name) => /authorization|key/i.test(name)) || /apikey|keys/.test(path);
  const response = await fetch(service.postUrl + path, {
    method,
    body: body as Uint8Array<ArrayBuffer> | string | null,
    headers: { ...(!hasKey && { Authorization: `Bearer ${KEY}` }), ...headers },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Returns the events of the first log, newest first, once there are this many. */
export async function eventsOf(service: Service, count: number, query = ""): Promise<readonly Listed[]> {
  return await until(
    async () => {
      const found: Listed[] = [];
      for (let page = 1; ; page++) {
        const path = `/1/logs/${LOG}/events?pagesize=500&pagenum=${page}&attributes=true${query}`;
        const { headers, body } = await get(service, path);
        const total = Number(headers.get("x-total-count"));
        if (total < count) return null;
        found.push(...(body as Listed[]));
        if (found.length >= total || (body as Listed[]).length === 0) return found;
      }
    },
    { what: `${count} events`, timeout_ms: 100_000 },
  );
}

/** Returns the `data` of an event. */
export async function dataOf(service: Service, id: string): Promise<string> {
  const url = `${service.apiUrl}/1/logs/${LOG}/events/${id}/data`;
  return (await (await fetch(url, { headers: { Authorization: AUTHORIZATION } })).json()) as string;
}

/**
 * Starts a posting listener for the logs of a service, whose appends the test replaces.
 * @param submitLines takes lines in place of the write coalescer
 */
export async function listenWith(
  t: ExecutionContext,
  { ports }: Service,
  {
    idempotency,
    submitLines,
  }: { readonly idempotency: Idempotency; readonly submitLines: (lines: number) => Promise<string> },
): Promise<{ readonly postUrl: string }> {
  const server = createPostListener({
    catalog: ports.catalog,
    idempotency,
    scheduler: new Scheduler(),
    coalescer: { submitLines: (_log: unknown, lines: readonly unknown[]) => submitLines(lines.length) } as never,
    limits: DEFAULT_LIMITS,
    log: pino({ level: "silent" }),
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  return { postUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
