import { createServer } from "node:http";
import type { Server } from "node:http";

import { LoggiaError } from "../errors.ts";
import { toFailure } from "../http/errors.ts";
import { COMMON_HEADERS } from "../http/headers.ts";
import type { EvictionReason } from "../http/limits/connections.ts";
import { endAfter } from "../http/response-tracker.ts";
import { limitConnections } from "../http/listen.ts";
import type { ConnectionLimits } from "../http/limits/connection-limits.ts";
import { refuseAmbiguous } from "../http/malformed.ts";
import type { OpsEndpoints } from "./ops-endpoints.ts";

export type MonitoringListenerOptions = {
  readonly connections: ConnectionLimits;
  /** Called for each evicted connection. */
  readonly onEvicted: (reason: EvictionReason) => void;
};

/** Creates the monitoring listener, which serves the ops endpoints only. */
export function createMonitoringListener(
  opsEndpoints: OpsEndpoints,
  { connections, onEvicted }: MonitoringListenerOptions,
): Server {
  const server = createServer((request, response) => {
    if (refuseAmbiguous(request, response) || opsEndpoints(request, response)) return;
    const nothing = new LoggiaError(
      "path_not_found",
      "This address serves only /health/live, /health/ready and /metrics",
    );
    const { status, body } = toFailure(nothing);
    const headers = { ...COMMON_HEADERS, "Content-Type": "application/json; charset=utf-8", Connection: "close" };
    endAfter(request);
    response.writeHead(status, headers).end(body.json());
  });
  limitConnections(server, connections, onEvicted);
  return server;
}
