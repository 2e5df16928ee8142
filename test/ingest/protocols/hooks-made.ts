import type { GivenHook } from "../../../src/catalog/catalog.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import { LOG } from "../../support/service.ts";
import type { Service } from "../../support/service.ts";

/**
 * Creates a hook of the first log.
 * @returns the generated secret; "" if none was generated
 */
export async function makeHook({ ports }: Service, name: string, given: GivenHook = {}): Promise<string> {
  return (await ports.catalog.createHook(parseLogKey(LOG)!, { name, ...given })).secret ?? "";
}

export const hookPath = (name: string): string => `/1/logs/${LOG}/hooks/${name}`;
