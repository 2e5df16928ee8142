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
import { keyed } from "./faults/keyed.ts";
import { poisonCluster, poisonEmbedded } from "./faults/poison.ts";
import { proxy } from "./faults/proxy.ts";
import { rotation } from "./faults/rotation.ts";
import { soak } from "./faults/soak.ts";
import {
  aheadCluster,
  aheadEmbedded,
  clockCluster,
  clockEmbedded,
  pollerCluster,
  pollerEmbedded,
  pollerSpread,
} from "./faults/time.ts";

/** Faults that need Kafka and Elasticsearch. There is one pair, so they run one after the other. */
const CLUSTER: readonly Fault[] = [
  killKafka,
  killElasticsearch,
  keyed,
  killProcesses,
  pushback,
  poisonCluster,
  networkKafka,
  networkElasticsearch,
  diskElasticsearch,
  consumers,
  terminateCluster,
  clockCluster,
  aheadCluster,
  pollerSpread,
  pollerCluster,
];

/** Faults that need neither, and run beside the others. */
const EMBEDDED: readonly Fault[] = [
  killEmbedded,
  poisonEmbedded,
  diskEmbedded,
  terminateEmbedded,
  clockEmbedded,
  aheadEmbedded,
  backup,
  proxy,
  pollerEmbedded,
  rotation,
];

export const LANES: readonly (readonly Fault[])[] = [CLUSTER, EMBEDDED];

/** Measures the service, so nothing else may run meanwhile. */
export const LAST: Fault = soak;

export const FAULTS: readonly Fault[] = [...LANES.flat(), LAST];
