import type { HookKind, HookSettings } from "../../../catalog/catalog.ts";
import { READY_HOOKS } from "../../../catalog/hook-checks.ts";
import { LoggiaError } from "../../../errors.ts";
import type { Failure } from "../../../http/errors.ts";
import { PENDING } from "../../kit/steps.ts";
import type {
  ProtocolEndpoint,
  Outcome,
  PostEndpoint,
  ProtocolAnswer,
  ReadEvent,
  Received,
} from "../../kit/endpoint.ts";
import type { Protocol } from "../protocol.ts";
import { admitHook } from "./admit.ts";
import { decodeAlerts } from "./alertmanager.ts";
import { fillTemplate } from "./fill.ts";
import { decodeGithub } from "./github.ts";
import { decodeJson } from "./json.ts";
import { decodeSentry } from "./sentry.ts";
import { deliveryId } from "./signatures.ts";

const PATH = /^\/hooks\/(?<name>[A-Za-z0-9][A-Za-z0-9-]{0,62})$/;
const TYPE = "application/json; charset=utf-8";

/** Webhooks of services that post in their own forms. */
export const HOOKS: Protocol = {
  name: "hooks",
  page: "webhooks.md",
  match(method, path): ProtocolEndpoint | null {
    const name = method === "POST" || method === "PUT" ? PATH.exec(path)?.groups?.["name"] : undefined;
    return name === undefined ? null : endpoint(name.toLowerCase());
  },
};

function endpoint(name: string): PostEndpoint {
  return {
    kind: "post",
    admit: (request, given, peer, options) => admitHook(request, { ...given, name }, peer, options),
    read(received) {
      let duplicates = 0;
      return {
        items: withIds(name, decode(name, received), received),
        onDuplicate: () => (duplicates += 1),
        accepted: (outcome) => accepted(outcome, duplicates),
      };
    },
    failed,
  };
}

const DECODERS: Readonly<Record<HookKind, (received: Received) => Iterable<ReadEvent>>> = {
  github: decodeGithub,
  alertmanager: decodeAlerts,
  sentry: decodeSentry,
  json: decodeJson,
};

/** Decodes a request by its configured hook, otherwise by the name of a built-in one. */
function decode(name: string, received: Received): Iterable<ReadEvent> {
  const { hook } = received;
  const kind = hook?.kind ?? READY_HOOKS.get(name);
  if (kind === undefined) throw new LoggiaError("hook_not_found", "This hook does not exist");
  return decodeHook({ kind, template: hook?.template ?? null }, received);
}

/** Decodes a request by the settings of a hook. @throws LoggiaError `bad_body` */
export function decodeHook(
  { kind, template }: Pick<HookSettings, "kind" | "template">,
  received: Received,
): Iterable<ReadEvent> {
  return template === null ? DECODERS[kind](received) : fillTemplate(template, received);
}

/**
 * Scopes the ids of events to their hook. An event without an id gets that of its delivery, which
 * senders repeat if they got no response.
 */
function* withIds(name: string, events: Iterable<ReadEvent>, { headers, hook }: Received): Generator<ReadEvent> {
  const delivery = deliveryId(hook?.signature ?? "none", headers);
  let n = 0;
  for (const event of events) {
    if (event !== PENDING) n += 1;
    if ("fault" in event) yield event;
    else if (event.id !== undefined) yield { ...event, id: `\0hook\n${name}\n${event.id}` };
    else yield delivery === "" ? event : { ...event, id: `\0hook\n${name}\n${delivery}\n${n}` };
  }
}

/**
 * Returns the response.
 * @param duplicates number of events that were stored already
 * @throws LoggiaError `bad_body` if no part of the body could be decoded
 */
function accepted({ accepted: count, rejected, fault }: Outcome, duplicates: number): ProtocolAnswer {
  if (count === 0 && duplicates === 0 && rejected > 0)
    throw new LoggiaError("bad_body", `No part of the body could be decoded: ${fault ?? ""}`);
  const body = rejected === 0 ? { accepted: count } : { accepted: count, rejected, fault };
  return { status: 200, type: TYPE, body: JSON.stringify(body) };
}

function failed({ status, body }: Failure): ProtocolAnswer {
  return { status, type: TYPE, body: body.json() };
}
