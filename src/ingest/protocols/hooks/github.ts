import { flattenInto } from "../flatten.ts";
import type { Gathered } from "../flatten.ts";
import { isObject } from "../json.ts";
import type { Steps } from "../json-scanner.ts";
import { markedIf } from "../line.ts";
import type { ReadEvent, Received } from "../protocol.ts";
import { sentenceOf } from "./github-sentences.ts";
import { headerOf, itemsOf, objectOf, textAt } from "./payload.ts";
import type { Fields, Payload } from "./payload.ts";

/**
 * Addresses of GitHub's API stand with everything, and say what names say as well.
 */
const NOISE = /^(?:url|gravatar_id|avatar_url|_links|user_view_type|site_admin)$|(?:^|_)node_id$|(?<!html)_url$/;
/** What tells accounts and repositories apart: of these, all else is left out. */
const OF_ACCOUNT: ReadonlySet<string> = new Set("id login name email type html_url".split(" "));
const OF_REPOSITORY: ReadonlySet<string> = new Set(
  "id name full_name private fork html_url default_branch visibility language topics description".split(" "),
);
/** Deeper levels stay as they are. */
const MAX_DEPTH = 16;
/** What stands with nearly all events goes behind what is the event's own. */
const COMMON = ["repository", "organization", "enterprise", "installation", "sender"] as const;

/**
 * The event of a delivery of GitHub.
 * https://docs.github.com/en/webhooks/webhook-events-and-payloads
 * @throws LoggiaError `bad_body`
 */
export function* decodeGithub(received: Received): Generator<ReadEvent> {
  const given = yield* objectOf(received);
  const payload = given.value;
  const name = headerOf(received.headers, "x-github-event");
  const delivery = headerOf(received.headers, "x-github-delivery");
  const action = textAt(payload, "action");
  const { text, link, severity } = sentenceOf(name, payload, yield* commitsOf(given));
  yield markedIf(given.isCut, {
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

/** How many commits a push has, also those that there is no room for. */
function* commitsOf(payload: Payload): Steps<number> {
  let count = 0;
  for (const item of (yield* itemsOf(payload, ["commits"])) ?? []) {
    if ("fault" in item) yield item;
    else count += 1;
  }
  return count;
}

function attributesOf(payload: Fields, name: string): Gathered {
  const attributes: Gathered = new Map(name === "" ? [] : [["event", name]]);
  const own = Object.entries(payload).filter(([key]) => !COMMON.some((common) => common === key));
  flattenInto(attributes, trimmed(Object.fromEntries(own), 0) as object);
  for (const key of COMMON) if (isObject(payload[key])) flattenInto(attributes, { [key]: trimmed(payload[key], 1) });
  return attributes;
}

/** A value without what GitHub adds for programs that go on to its API. */
function trimmed(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => trimmed(one, depth + 1));
  const keeps = keptOf(value);
  const kept = Object.entries(value).filter(([key]) => (keeps === null ? !NOISE.test(key) : keeps.has(key)));
  return Object.fromEntries(kept.map(([key, one]) => [key, trimmed(one, depth + 1)]));
}

/** The members of an object that are kept; null: all that are no noise. */
function keptOf(value: object): ReadonlySet<string> | null {
  if (Object.hasOwn(value, "full_name") && Object.hasOwn(value, "node_id")) return OF_REPOSITORY;
  return Object.hasOwn(value, "login") && Object.hasOwn(value, "node_id") ? OF_ACCOUNT : null;
}
