import type { Logger } from "pino";

import { shareDescriptors } from "../http/limits/descriptors.ts";
import { type ConnectionLimits, DEFAULT_CONNECTION_LIMITS } from "../http/limits/connection-limits.ts";
import type { Settings } from "../settings.ts";
import { maxConnections } from "./listeners.ts";

/** Connection limits of a process's listeners. `listeners` is the total of the other protocols. */
export type Connections = Readonly<Record<"api" | "post" | "listeners" | "monitoring", ConnectionLimits>>;

const MONITORING_CONNECTIONS = 100;

/** @throws StartError if the limit of open files of this process is too low */
export function shareConnections(settings: Settings, log: Logger): Connections {
  const { roles, monitoring } = settings;
  const { connections: most } = DEFAULT_CONNECTION_LIMITS;
  return shareDescriptors(
    {
      api: roles.has("api") ? most : 0,
      post: roles.has("post") ? most : 0,
      listeners: roles.has("post") ? maxConnections(settings) : 0,
      monitoring: monitoring === null ? 0 : MONITORING_CONNECTIONS,
    },
    log,
  );
}
