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

/** Every test of faults, in the order in which they are run. */
export const FAULTS: readonly Fault[] = [
  killKafka,
  killElasticsearch,
  killProcesses,
  killEmbedded,
  pushback,
  poisonEmbedded,
  poisonCluster,
  networkKafka,
  networkElasticsearch,
  diskEmbedded,
  diskElasticsearch,
  consumers,
  terminateEmbedded,
  terminateCluster,
  clockEmbedded,
  clockCluster,
  backup,
  pollerEmbedded,
  pollerSpread,
  pollerCluster,
  soak,
];
