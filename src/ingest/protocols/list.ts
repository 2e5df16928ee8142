import { DATADOG } from "./datadog/protocol.ts";
import { ELASTICSEARCH } from "./elasticsearch/protocol.ts";
import { GELF } from "./gelf/protocol.ts";
import { HOOKS } from "./hooks/protocol.ts";
import { JOURNALD } from "./journald/protocol.ts";
import { LINES } from "./lines/protocol.ts";
import { LOKI } from "./loki/protocol.ts";
import { OTLP } from "./otlp/protocol.ts";
import type { Protocol } from "./protocol.ts";
import { SPLUNK } from "./splunk/protocol.ts";

/** All protocols, in the order in which paths are matched. */
export const PROTOCOLS: readonly Protocol[] = [
  LINES,
  OTLP,
  LOKI,
  SPLUNK,
  DATADOG,
  GELF,
  JOURNALD,
  HOOKS,
  ELASTICSEARCH,
];
