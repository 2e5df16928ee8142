import { flattenInto, put } from "../../kit/flatten.ts";
import type { MutableAttributes } from "../../kit/flatten.ts";
import { isObject } from "../../kit/json.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import type { ProducerEvent, ReadEvent, Received } from "../../kit/endpoint.ts";
import { parseSeverity } from "../../kit/severity.ts";
import { readProducerTime } from "../../kit/times.ts";
import { at, headerText, payloadObject, textAt } from "./payload.ts";
import type { PayloadFields } from "./payload.ts";

/** Long members of Sentry's events, which are better read in Sentry. */
const LONG: ReadonlySet<string> = new Set(
  "_meta _metrics _ref _ref_version breadcrumbs debug_meta grouping_config hashes modules threads".split(" "),
);
/** Matches the project in a URL of Sentry's API. */
const PROJECT = /\/projects\/[^/]+\/(?<project>[^/]+)\//;
const MAX_FRAMES = 50;
const MAX_EXCEPTIONS = 10;

/**
 * Decodes a request of Sentry: of an integration, identified by `Sentry-Hook-Resource`, or of the
 * older plugin, whose body is the issue itself.
 * https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
 * @throws LoggiaError `bad_body`
 */
export function* decodeSentry(received: Received): Generator<ReadEvent> {
  const { value: body, isCut } = yield* payloadObject(received);
  yield tagIfCut(isCut, eventOf(body, received.headers));
}

function eventOf(body: PayloadFields, headers: Received["headers"]): ProducerEvent {
  const resource = headerText(headers, "sentry-hook-resource");
  const action = textAt(body, "action");
  const data = body["data"];
  if (!isObject(data)) return eventOfPlugin(body);
  const request = headerText(headers, "request-id");
  const context: Context = { action, resource, data, body, ...(request !== "" && { id: `request ${request}` }) };
  for (const name of ["event", "error"] as const) {
    const reported = data[name];
    if (isObject(reported)) return eventOfError(reported, context);
  }
  if (isObject(data["issue"])) return eventOfIssue(data["issue"], context);
  if (isObject(data["metric_alert"])) return eventOfMetric(data["metric_alert"], context);
  return eventOfOther(context);
}

/** Context of the object that a request reports. */
type Context = {
  readonly id?: string;
  readonly action: string;
  readonly resource: string;
  readonly data: PayloadFields;
  readonly body: PayloadFields;
};

const NOTHING = { severity: null, source: "", geo: null, time: null } as const;

/** Creates the event of an issue alert, or of an error, with its stack trace. */
function eventOfError(reported: PayloadFields, context: Context): ProducerEvent {
  const rule = textAt(context.data, "triggered_rule");
  const event = textAt(reported, "event_id");
  const stack = stackOf(reported);
  const title = textAt(reported, "title", "message", "metadata.title", "metadata.value");
  return {
    ...NOTHING,
    ...idOf(event === "" ? (context.id ?? "") : [event, context.resource, rule].join(" ")),
    text: title === "" ? sentenceOf(context) : title,
    ...(stack !== "" && { data: stack }),
    severity: parseSeverity(textAt(reported, "level")),
    source: sourceOf(reported),
    user: textAt(reported, "user.username", "user.email", "user.id", "user.ip_address"),
    link: textAt(reported, "web_url", "issue_url", "url"),
    tags: tagsOf(context),
    time: readProducerTime(reported["timestamp"]) ?? readProducerTime(reported["datetime"]),
    attributes: attributesOf(briefOf(reported, stack), context, rule === "" ? {} : { triggered_rule: rule }),
  };
}

function eventOfIssue(issue: PayloadFields, context: Context): ProducerEvent {
  const title = textAt(issue, "title", "metadata.value", "culprit");
  return {
    ...NOTHING,
    ...idOf(context.id ?? ""),
    text: `Issue ${textAt(issue, "shortId", "id")} ${context.action}: ${title}`,
    severity: context.action === "resolved" ? "info" : parseSeverity(textAt(issue, "level")),
    source: sourceOf(issue),
    user: textAt(context.body, "actor.name"),
    link: textAt(issue, "web_url", "permalink", "url"),
    tags: tagsOf(context),
    attributes: attributesOf(issue, context),
  };
}

function eventOfMetric(alert: PayloadFields, context: Context): ProducerEvent {
  const { action, data } = context;
  const text = textAt(data, "description_title") || textAt(alert, "title");
  const description = textAt(data, "description_text");
  return {
    ...NOTHING,
    ...idOf(context.id ?? ""),
    text: text === "" ? sentenceOf(context) : text,
    ...(description !== "" && { data: description }),
    severity: action === "resolved" ? "info" : parseSeverity(action),
    source: textAt(alert, "projects.0", "organization.slug"),
    link: textAt(data, "web_url"),
    tags: tagsOf(context),
    time: readProducerTime(at(alert, action === "resolved" ? "date_closed" : "date_detected")),
    attributes: attributesOf(alert, context, description === "" ? {} : { description_text: description }),
  };
}

/** Creates the event of a comment, an installation, or an unknown resource. */
function eventOfOther(context: Context): ProducerEvent {
  const { data, body } = context;
  const comment = textAt(data, "comment");
  const source = textAt(data, "project_slug", "project.slug", "installation.organization.slug");
  const who = textAt(body, "actor.name");
  return {
    ...NOTHING,
    ...idOf(context.id ?? ""),
    text: comment === "" ? sentenceOf(context) : `${who || "Somebody"} commented on an issue: ${comment}`,
    source,
    user: who,
    tags: tagsOf(context),
    time: readProducerTime(data["timestamp"]),
    attributes: attributesOf(data, context),
  };
}

/** Creates the event of a request of the older plugin. */
function eventOfPlugin(body: PayloadFields): ProducerEvent {
  const reported = isObject(body["event"]) ? body["event"] : {};
  const stack = stackOf(reported);
  const { event: _, ...rest } = body;
  const title = textAt(body, "message", "title", "culprit") || textAt(reported, "title", "metadata.title", "message");
  const event = textAt(reported, "event_id", "id");
  const context = { action: "", resource: "issue", data: {}, body: {} };
  return {
    ...NOTHING,
    ...idOf(event === "" ? "" : [event, textAt(body, "id"), textAt(body, "triggering_rules.0")].join(" ")),
    text: title,
    ...(stack !== "" && { data: stack }),
    severity: parseSeverity(textAt(body, "level")) ?? parseSeverity(textAt(reported, "level")),
    source: textAt(body, "project_slug", "project", "project_name"),
    user: textAt(reported, "user.username", "user.email", "user.id"),
    link: textAt(body, "url"),
    tags: tagsOf(context),
    time: readProducerTime(reported["timestamp"]) ?? readProducerTime(reported["datetime"]),
    attributes: attributesOf(briefOf(reported, stack), context, rest),
  };
}

function idOf(id: string): { readonly id?: string } {
  return id === "" ? {} : { id };
}

function sentenceOf({ resource, action }: Context): string {
  return ["Sentry", resource.replaceAll("_", " "), action].filter((word) => word !== "").join(" ");
}

function tagsOf({ resource, action }: Context): readonly string[] {
  return [resource, action].filter((tag) => tag !== "");
}

/** Returns the project: its name, or, if the event only has its number, its name from a URL. */
function sourceOf(reported: PayloadFields): string {
  const named = textAt(reported, "project.slug", "project.name", "project_slug", "project_name");
  return (
    named || (PROJECT.exec(textAt(reported, "url", "web_url"))?.groups?.["project"] ?? textAt(reported, "project"))
  );
}

function attributesOf(
  reported: PayloadFields,
  { action, resource, body }: Context,
  more: PayloadFields = {},
): MutableAttributes {
  const attributes: MutableAttributes = new Map();
  const context = {
    resource,
    action,
    actor: textAt(body, "actor.name"),
    installation: textAt(body, "installation.uuid"),
  };
  for (const [name, value] of Object.entries(context)) if (value !== "") put(attributes, name, value);
  flattenInto(attributes, more);
  const { tags, ...rest } = reported;
  for (const [name, value] of pairsOf(tags)) put(attributes, `tags.${name}`, value);
  flattenInto(attributes, Array.isArray(tags) ? rest : reported);
  return attributes;
}

/** Returns a Sentry event without long members, and without an exception that is in the stack. */
function briefOf(reported: PayloadFields, stack: string): PayloadFields {
  return Object.fromEntries(
    Object.entries(reported).filter(([name]) => !LONG.has(name) && (name !== "exception" || stack === "")),
  );
}

/** Yields Sentry's tags, which are pairs or objects with key and value. */
function* pairsOf(tags: unknown): Generator<readonly [string, string]> {
  if (!Array.isArray(tags)) return;
  for (const tag of tags as readonly unknown[]) {
    const name = textAt(tag, "0", "key");
    const value = textAt(tag, "1", "value");
    if (name !== "" && value !== "") yield [name, value];
  }
}

/** Returns the stack trace of an event, innermost call first. */
function stackOf(reported: PayloadFields): string {
  const exceptions = at(reported, "exception.values") ?? at(reported, "sentry.interfaces.Exception.values");
  if (!Array.isArray(exceptions)) return "";
  const lines: string[] = [];
  for (const exception of (exceptions as readonly unknown[]).slice(-MAX_EXCEPTIONS).toReversed()) {
    const said = [textAt(exception, "type"), textAt(exception, "value")].filter((part) => part !== "").join(": ");
    if (said !== "") lines.push(lines.length === 0 ? said : `Caused by: ${said}`);
    const frames = at(exception, "stacktrace.frames");
    if (!Array.isArray(frames)) continue;
    for (const frame of (frames as readonly unknown[]).slice(-MAX_FRAMES).toReversed()) lines.push(lineOf(frame));
  }
  return lines.join("\n");
}

function lineOf(frame: unknown): string {
  const where = textAt(frame, "filename", "abs_path", "module") || "?";
  const place = [where, textAt(frame, "lineno"), textAt(frame, "colno")].filter((part) => part !== "").join(":");
  return `    at ${textAt(frame, "function") || "?"} (${place})`;
}
