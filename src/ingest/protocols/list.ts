import { ELASTICSEARCH } from "./elasticsearch/protocol.ts";
import { LINES } from "./lines/protocol.ts";
import { LOKI } from "./loki/protocol.ts";
import { OTLP } from "./otlp/protocol.ts";
import type { Protocol } from "./protocol.ts";

/** All protocols, in the order in which they are asked for a path. */
export const PROTOCOLS: readonly Protocol[] = [LINES, OTLP, LOKI, ELASTICSEARCH];
