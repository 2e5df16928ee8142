import { flattenInto } from "../../kit/flatten.ts";
import type { MutableAttributes } from "../../kit/flatten.ts";
import { isObject } from "../../kit/json.ts";
import type { Steps } from "../../kit/steps.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import type { ReadEvent, Received } from "../../kit/endpoint.ts";
import { githubSentence } from "./github-sentences.ts";
import { headerText, payloadItems, payloadObject, textAt } from "./payload.ts";
import type { PayloadFields, Payload } from "./payload.ts";

/** Members left out: URLs of GitHub's API and ids, which repeat what names say. */
const NOISE = /^(?:url|gravatar_id|avatar_url|_links|user_view_type|site_admin)$|(?:^|_)node_id$|(?<!html)_url$/;
/** Members kept of accounts and repositories, which identify them. */
const OF_ACCOUNT: ReadonlySet<string> = new Set("id login name email type html_url".split(" "));
const OF_REPOSITORY: ReadonlySet<string> = new Set(
  "id name full_name private fork html_url default_branch visibility language topics description".split(" "),
);
/** Deeper levels are not trimmed. */
const MAX_DEPTH = 16;
/** Members of nearly all events. They follow the event's own members. */
const COMMON = ["repository", "organization", "enterprise", "installation", "sender"] as const;

/**
 * Decodes a delivery of GitHub. https://docs.github.com/en/webhooks/webhook-events-and-payloads
 * @throws LoggiaError `bad_body`
 */
export function* decodeGithub(received: Received): Generator<ReadEvent> {
  const given = yield* payloadObject(received);
  const payload = given.value;
  const name = headerText(received.headers, "x-github-event");
  const delivery = headerText(received.headers, "x-github-delivery");
  const action = textAt(payload, "action");
  const { text, link, severity } = githubSentence(name, payload, yield* commitsOf(given));
  yield tagIfCut(given.isCut, {
    ...(delivery !== "" && { id: delivery }),
    text,
    severity,
    source: textAt(payload, "repository.full_name", "organization.login", "enterprise.slug") || "github",
    user: textAt(payload, "sender.login", "pusher.name"),
    link,
    geo: null,
    tags: [name, action].filter((tag) => tag !== ""),
    time: null,
    attributes: attributesOf(payload, name),
  });
}

/** Counts the commits of a push, including those left out of the value for its length. */
function* commitsOf(payload: Payload): Steps<number> {
  let count = 0;
  for (const item of (yield* payloadItems(payload, ["commits"])) ?? []) {
    if ("fault" in item) yield item;
    else count += 1;
  }
  return count;
}

function attributesOf(payload: PayloadFields, name: string): MutableAttributes {
  const attributes: MutableAttributes = new Map(name === "" ? [] : [["event", name]]);
  const own = Object.entries(payload).filter(([key]) => !COMMON.some((common) => common === key));
  flattenInto(attributes, trimmed(Object.fromEntries(own), 0) as object);
  for (const key of COMMON) if (isObject(payload[key])) flattenInto(attributes, { [key]: trimmed(payload[key], 1) });
  return attributes;
}

/** Returns a value without what GitHub adds for API clients. */
function trimmed(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => trimmed(one, depth + 1));
  const keeps = keptOf(value);
  const kept = Object.entries(value).filter(([key]) => (keeps === null ? !NOISE.test(key) : keeps.has(key)));
  return Object.fromEntries(kept.map(([key, one]) => [key, trimmed(one, depth + 1)]));
}

/** Returns the members kept of an object; null: all except the noise. */
function keptOf(value: object): ReadonlySet<string> | null {
  if (Object.hasOwn(value, "full_name") && Object.hasOwn(value, "node_id")) return OF_REPOSITORY;
  return Object.hasOwn(value, "login") && Object.hasOwn(value, "node_id") ? OF_ACCOUNT : null;
}
