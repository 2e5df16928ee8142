import type { Client } from "@elastic/elasticsearch";
import { pino } from "pino";

export const SILENT = pino({ level: process.env["TEST_LOG"] ?? "silent" });

/**
 * Returns the real client with one of its requests intercepted: `updateAliases` of `indices`, or
 * `bulk`.
 */
export function intercept(
  client: Client,
  name: string,
  around: (request: () => Promise<unknown>, ...given: readonly unknown[]) => Promise<unknown>,
): Client {
  const [first, second] = name.split(".") as [keyof Client, string | undefined];
  const wrap = (owner: object, request: unknown) => {
    const call = request as (...given: unknown[]) => Promise<unknown>;
    return (...given: unknown[]) => around(() => call.apply(owner, given), ...given);
  };
  return new Proxy(client, {
    get(target, property) {
      const found: unknown = Reflect.get(target, property);
      if (property !== first) return found;
      if (second === undefined) return wrap(target, found);
      return new Proxy(found as object, {
        get: (inner, key) => (key === second ? wrap(inner, Reflect.get(inner, key)) : Reflect.get(inner, key)),
      });
    },
  });
}
