import type { SettingRow } from "../../settings/setting.ts";
import { DATADOG } from "./datadog/protocol.ts";
import { ELASTICSEARCH } from "./elasticsearch/protocol.ts";
import { FORWARD } from "./forward/protocol.ts";
import { GELF } from "./gelf/protocol.ts";
import { HOOKS } from "./hooks/protocol.ts";
import { JOURNALD } from "./journald/protocol.ts";
import { LINES } from "./lines/protocol.ts";
import { LOKI } from "./loki/protocol.ts";
import { OTLP } from "./otlp/protocol.ts";
import type { Protocol } from "./protocol.ts";
import { SPLUNK } from "./splunk/protocol.ts";
import { SYSLOG } from "./syslog/protocol.ts";

/** All protocols, in the order in which paths are matched and sockets are opened. */
export const PROTOCOLS: readonly Protocol[] = [
  SYSLOG,
  GELF,
  FORWARD,
  LINES,
  OTLP,
  LOKI,
  SPLUNK,
  DATADOG,
  JOURNALD,
  HOOKS,
  ELASTICSEARCH,
];

/** Settings of all protocols. */
export const PROTOCOL_SETTINGS: readonly SettingRow[] = PROTOCOLS.flatMap(({ settings = [], sockets }) => [
  ...settings,
  ...(sockets === undefined ? [] : [sockets.setting]),
]);
