import type { Fault } from "./chaos.ts";
import { backup } from "./faults/backup.ts";
import { diskElasticsearch, diskEmbedded } from "./faults/disk.ts";
import { networkElasticsearch, networkKafka, pushback } from "./faults/engines.ts";
import {
  consumers,
  killElasticsearch,
  killEmbedded,
  killKafka,
  killProcesses,
  terminateCluster,
  terminateEmbedded,
} from "./faults/kills.ts";
import { poisonCluster, poisonEmbedded } from "./faults/poison.ts";
import { soak } from "./faults/soak.ts";
import { clockCluster, clockEmbedded, pollerCluster, pollerEmbedded, pollerSpread } from "./faults/time.ts";

/**
 * Tests that run beside each other, each list with engines of its own, one after the other: one list does things to engines, the other to the service.
 * Both take about as long.
 */
export const LANES: readonly (readonly Fault[])[] = [
  [killKafka, killElasticsearch, pushback, networkKafka, networkElasticsearch, diskElasticsearch, pollerCluster],
  [
    killEmbedded,
    poisonEmbedded,
    diskEmbedded,
    terminateEmbedded,
    clockEmbedded,
    backup,
    pollerEmbedded,
    killProcesses,
    consumers,
    poisonCluster,
    terminateCluster,
    clockCluster,
    pollerSpread,
  ],
];

/** Measures the service, so nothing may run beside it. */
export const LAST: Fault = soak;

export const FAULTS: readonly Fault[] = [...LANES.flat(), LAST];
