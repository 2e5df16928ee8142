import { ask, waitForEvents } from "../support/client.ts";
import { batchRequest } from "../support/events.ts";
import { clearStorage, startService } from "../support/storage.ts";
import type { ServiceProcess } from "../support/processes.ts";
import type { World } from "../support/world.ts";
import type { Answerer, Contender, Loaded } from "./contender.ts";

/** Starts an empty Loggia on embedded engines. */
export async function startLoggia(world: World): Promise<Contender> {
  const storage = await world.storage();
  if (storage.kind !== "embedded") throw new TypeError("this benchmark runs on embedded engines only");
  const service = await startService(storage);
  return {
    ...contenderOf(service),
    pid: service.pid,
    folder: storage.folder,
    isOfBus: (file) => file.startsWith("bus.sqlite"),
    async [Symbol.asyncDispose]() {
      await service.stop();
      await clearStorage(storage);
    },
  };
}

/** Wraps a service in one process, on any engines. */
export function contenderOf({ postPort, apiPort }: ServiceProcess): Loaded & Answerer {
  return {
    name: "Loggia",
    postPort,
    accepts: 201,
    lineOf: (event) => JSON.stringify(event),
    requestOf: batchRequest,
    waitForEvents: (count, timeout_ms) => waitForEvents(apiPort, count, timeout_ms),
    async ask({ loggia }) {
      const bodies: string[] = [];
      for (const [path, parameters] of loggia) bodies.push((await ask(apiPort, path, parameters)).body);
      return () => bodies.reduce((sum, body) => sum + (JSON.parse(body) as unknown[]).length, 0);
    },
  };
}
