import { readFileSync } from "node:fs";
import type { Logger } from "pino";

import { StartError } from "../../errors.ts";
import { DEFAULT_CONNECTION_LIMITS } from "./connection-limits.ts";
import type { ConnectionLimits } from "./connection-limits.ts";

/** Minimum number of descriptors. Fewer leave no room for files, engines and a few connections. */
const DESCRIPTORS_MIN = 256;
/**
 * Bounds of the reserve for files and connections to engines, which is a quarter of the
 * descriptors.
 */
const RESERVE_MIN = 96;
const RESERVE_MAX = 256;
const CONNECTIONS_MIN = 16;

/**
 * Divides the descriptors of this process among listeners, as limits of connections.
 * @param wanted connections of each listener, by its name
 * @param openFiles the available descriptors
 * @throws StartError if they are too few to work with
 */
export function shareDescriptors<Name extends string>(
  wanted: Readonly<Record<Name, number>>,
  log: Pick<Logger, "warn">,
  openFiles: number = readOpenFilesLimit(),
): Readonly<Record<Name, ConnectionLimits>> {
  if (openFiles < DESCRIPTORS_MIN) {
    const remedy = "raise it with ulimit -n, LimitNOFILE= of systemd or --ulimit nofile= of a container";
    throw new StartError(
      `ulimit -n allows ${openFiles} open files, and the service needs at least ${DESCRIPTORS_MIN}; ${remedy}`,
    );
  }
  const reserve = Math.min(RESERVE_MAX, Math.max(RESERVE_MIN, Math.floor(openFiles / 4)));
  const entries = Object.entries<number>(wanted);
  const sum = entries.reduce((total, [, most]) => total + most, 0);
  const part = Math.min(1, (openFiles - reserve) / sum);
  const connections = entries.map(
    ([name, most]) => [name, Math.min(most, Math.max(CONNECTIONS_MIN, Math.floor(most * part)))] as const,
  );
  if (part < 1) {
    const needed = sum + RESERVE_MAX;
    const lowered = {
      openFiles,
      needed,
      connections: Object.fromEntries(connections.filter(([, most]) => most > 0)),
    };
    log.warn(lowered, `connections are limited to what ulimit -n allows; set it to ${needed} to allow all`);
  }
  // A part of the reserve stays free even if other code takes more descriptors than planned.
  const descriptors = openFiles - Math.floor(reserve / 4);
  const limits = connections.map(([name, most]) => {
    const own: ConnectionLimits = { ...DEFAULT_CONNECTION_LIMITS, connections: most, descriptors };
    return [name, own] as const;
  });
  return Object.fromEntries(limits) as Record<Name, ConnectionLimits>;
}

/**
 * Returns how many files this process may have open. Node raises the soft limit to the hard limit
 * at startup.
 */
export function readOpenFilesLimit(file = "/proc/self/limits"): number {
  try {
    const most = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync(file, "utf8"))?.[1];
    return most === undefined ? readFromReport() : numberOf(most);
  } catch {
    return readFromReport();
  }
}

/**
 * Reads the limit from Node's diagnostic report: slower, but available on every Unix. Windows has
 * no limit.
 */
function readFromReport(): number {
  const report: NodeJS.ProcessReport & { excludeNetwork?: boolean } = process.report;
  // Without this, the report looks up the host names of all peers.
  report.excludeNetwork = true;
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  return numberOf(userLimits?.open_files?.soft ?? "unlimited");
}

function numberOf(most: number | string): number {
  return most === "unlimited" ? Number.POSITIVE_INFINITY : Number(most);
}
