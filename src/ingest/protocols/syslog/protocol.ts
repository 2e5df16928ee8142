import type { Protocol } from "../protocol.ts";
import { SYSLOG_SOCKETS } from "./listen.ts";

/** Syslog over TCP and UDP, in the forms of RFC 5424, RFC 3164 and of devices near them. */
export const SYSLOG: Protocol = { name: "syslog", page: "syslog.md", sockets: SYSLOG_SOCKETS };
