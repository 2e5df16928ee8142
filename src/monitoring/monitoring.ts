import type { Server } from "node:http";
import type { Logger } from "pino";

import type { Bus } from "../bus/bus.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { ServiceRole } from "../settings/service.ts";
import type { Store } from "../store/store.ts";
import { watchAppends } from "./appends.ts";
import { countOpen } from "./dead-letters.ts";
import type { OpenLetters } from "./dead-letters.ts";
import { createOpsEndpoints } from "./ops-endpoints.ts";
import type { OpsEndpoints } from "./ops-endpoints.ts";
import { createHealth, needsOfRoles } from "./health.ts";
import type { Holds } from "./holds.ts";
import { watchLag } from "./lag.ts";
import { createMonitoringListener } from "./listener.ts";
import type { MonitoringListenerOptions } from "./listener.ts";
import { measureAppend } from "./measured.ts";
import { createMetrics } from "./metrics.ts";
import type { Metrics } from "./metrics.ts";

export type MonitoringOptions = {
  readonly ports: { readonly bus: Bus; readonly store: Store; readonly catalog: Catalog };
  readonly deadLetters: OpenLetters;
  readonly holds: Pick<Holds, "list">;
  /** Consumer group of the pipeline, whose lag is reported. */
  readonly group: string;
  /** Roles of this process. The monitoring listener is ready when all of them can work. */
  readonly roles: ReadonlySet<ServiceRole>;
  /** Whether only the monitoring listener serves metrics. */
  readonly separateMetrics: boolean;
  readonly log: Logger;
};

/** `starting` until all listeners of the process listen, `stopping` from the request to stop on. */
export type Phase = "starting" | "running" | "stopping";

/** Metrics and health of a process. */
export type Monitoring = AsyncDisposable & {
  readonly metrics: Metrics;
  /** The bus for posts, with its appends observed for readiness and metrics. */
  readonly appends: Pick<Bus, "append">;
  /** Returns the ops endpoints for the listener of one role. */
  readonly opsEndpoints: (role: ServiceRole) => OpsEndpoints;
  /** Sets the readiness condition of the pipeline: why the bus delivers nothing, or null. */
  watchDeliveries(fault: () => string | null): void;
  /** Sets the readiness condition of the comparison: why it has not been made yet, or null. */
  watchComparison(fault: () => string | null): void;
  /** Sets the phase of the process, at first `starting`. It is ready only while it is running. */
  enter(phase: Phase): void;
  /** Creates the monitoring listener. */
  listener(options: MonitoringListenerOptions): Server;
};

export function createMonitoring({
  ports,
  deadLetters,
  holds,
  group,
  roles,
  separateMetrics,
  log,
}: MonitoringOptions): Monitoring {
  const metrics = createMetrics();
  const appends = watchAppends(ports.bus);
  let deliveries: () => string | null = () => null;
  let comparison: () => string | null = () => null;
  let phase: Phase = "starting";
  const process = (): string | null => {
    if (phase !== "running") return `the service is ${phase}`;
    return ports.catalog.accounts().length === 0 ? "the catalog has no account yet" : null;
  };
  const conditions = { deliveries: () => deliveries(), comparison: () => comparison(), process };
  const health = createHealth({ ports, appends, holds, ...conditions, log });
  const lag = watchLag({ bus: ports.bus, group, log });
  metrics.watchHolds(() => holds.list());
  const { disk } = ports.bus;
  if (disk !== undefined) metrics.watchBusDisk(() => disk.call(ports.bus));
  metrics.watchLag(() => lag.current());
  metrics.watchDeadLetters(countOpen({ bus: ports.bus, deadLetters, group }));
  return {
    metrics,
    appends: measureAppend(appends, metrics.engines),
    watchDeliveries: (fault) => (deliveries = fault),
    watchComparison: (fault) => (comparison = fault),
    enter: (next) => (phase = next),
    opsEndpoints: (role) =>
      createOpsEndpoints({ health, needed: needsOfRoles([role]), metrics: separateMetrics ? null : metrics, log }),
    listener: (options) =>
      createMonitoringListener(createOpsEndpoints({ health, needed: needsOfRoles(roles), metrics, log }), options),
    [Symbol.asyncDispose]: () => lag[Symbol.asyncDispose](),
  };
}
