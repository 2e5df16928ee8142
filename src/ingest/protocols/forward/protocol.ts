import type { Protocol } from "../protocol.ts";
import { FORWARD_SOCKETS } from "./listen.ts";

/** Fluent forward over TCP: https://github.com/fluent/fluentd/wiki/Forward-Protocol-Specification-v1 */
export const FORWARD: Protocol = { name: "forward", page: "forward.md", sockets: FORWARD_SOCKETS };
