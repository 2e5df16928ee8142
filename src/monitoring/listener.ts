import { createServer } from "node:http";
import type { Server } from "node:http";
import type { Logger } from "pino";

import { LoggiaError } from "../errors.ts";
import { toFailure } from "../http/errors.ts";
import { COMMON_HEADERS } from "../http/headers.ts";
import { endAfter } from "../http/last-answer.ts";
import { DEFAULT_CONNECTION_LIMITS, limitConnections } from "../http/listen.ts";
import { refuseAmbiguous } from "../http/unreadable.ts";
import type { Front } from "./front.ts";

const CONNECTIONS = 100;

/** A listener for those who watch the service and nobody else: it answers what its front answers. */
export function createMonitoringListener(front: Front, log: Logger): Server {
  const server = createServer((request, response) => {
    if (refuseAmbiguous(request, response) || front(request, response)) return;
    const nothing = new LoggiaError("path_not_found", "Here are /health/live, /health/ready and /metrics");
    const { status, body } = toFailure(nothing, log);
    const headers = { ...COMMON_HEADERS, "Content-Type": "application/json; charset=utf-8", Connection: "close" };
    endAfter(request);
    response.writeHead(status, headers).end(body.json());
  });
  limitConnections(server, { ...DEFAULT_CONNECTION_LIMITS, connections: CONNECTIONS });
  return server;
}
