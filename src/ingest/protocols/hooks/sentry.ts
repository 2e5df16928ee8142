import { flattenInto, put } from "../flatten.ts";
import type { Gathered } from "../flatten.ts";
import { isObject } from "../json.ts";
import { markedIf } from "../line.ts";
import type { ProducerEvent, ReadEvent, Received } from "../protocol.ts";
import { severityOf } from "../severity.ts";
import { timeOf } from "../times.ts";
import { at, headerOf, objectOf, textAt } from "./payload.ts";
import type { Fields } from "./payload.ts";

/** Long members of Sentry's events, which are better read in Sentry. */
const LONG: ReadonlySet<string> = new Set(
  "_meta _metrics _ref _ref_version breadcrumbs debug_meta grouping_config hashes modules threads".split(" "),
);
/** Matches the project in a URL of Sentry's API. */
const PROJECT = /\/projects\/[^/]+\/(?<project>[^/]+)\//;
const MOST_FRAMES = 50;
const MOST_EXCEPTIONS = 10;

/**
 * Decodes a request of Sentry: of an integration, identified by `Sentry-Hook-Resource`, or of the
 * older plugin, whose body is the issue itself.
 * https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
 * @throws LoggiaError `bad_body`
 */
export function* decodeSentry(received: Received): Generator<ReadEvent> {
  const { value: body, isCut } = yield* objectOf(received);
  yield markedIf(isCut, eventOf(body, received.headers));
}

function eventOf(body: Fields, headers: Received["headers"]): ProducerEvent {
  const resource = headerOf(headers, "sentry-hook-resource");
  const action = textAt(body, "action");
  const data = body["data"];
  if (!isObject(data)) return eventOfPlugin(body);
  const request = headerOf(headers, "request-id");
  const around: Around = { action, resource, data, body, ...(request !== "" && { id: `request ${request}` }) };
  for (const name of ["event", "error"] as const) {
    const told = data[name];
    if (isObject(told)) return eventOfError(told, around);
  }
  if (isObject(data["issue"])) return eventOfIssue(data["issue"], around);
  if (isObject(data["metric_alert"])) return eventOfMetric(data["metric_alert"], around);
  return eventOfOther(around);
}

/** Context of the object that a request reports. */
type Around = {
  readonly id?: string;
  readonly action: string;
  readonly resource: string;
  readonly data: Fields;
  readonly body: Fields;
};

const NOTHING = { severity: null, source: "", user: "", link: "", geo: null, time: null } as const;

/** Creates the event of an issue alert, or of an error, with its stack trace. */
function eventOfError(told: Fields, around: Around): ProducerEvent {
  const rule = textAt(around.data, "triggered_rule");
  const event = textAt(told, "event_id");
  const stack = stackOf(told);
  const title = textAt(told, "title", "message", "metadata.title", "metadata.value");
  return {
    ...NOTHING,
    ...idOf(event === "" ? (around.id ?? "") : [event, around.resource, rule].join(" ")),
    text: title === "" ? sentenceOf(around) : title,
    ...(stack !== "" && { data: stack }),
    severity: severityOf(textAt(told, "level")),
    source: sourceOf(told),
    user: textAt(told, "user.username", "user.email", "user.id", "user.ip_address"),
    link: textAt(told, "web_url", "issue_url", "url"),
    tags: tagsOf(around),
    time: timeOf(told["timestamp"]) ?? timeOf(told["datetime"]),
    attributes: attributesOf(briefOf(told, stack), around, rule === "" ? {} : { triggered_rule: rule }),
  };
}

function eventOfIssue(issue: Fields, around: Around): ProducerEvent {
  const title = textAt(issue, "title", "metadata.value", "culprit");
  return {
    ...NOTHING,
    ...idOf(around.id ?? ""),
    text: `Issue ${textAt(issue, "shortId", "id")} ${around.action}: ${title}`,
    severity: around.action === "resolved" ? "info" : severityOf(textAt(issue, "level")),
    source: sourceOf(issue),
    user: textAt(around.body, "actor.name"),
    link: textAt(issue, "web_url", "permalink", "url"),
    tags: tagsOf(around),
    attributes: attributesOf(issue, around),
  };
}

function eventOfMetric(alert: Fields, around: Around): ProducerEvent {
  const { action, data } = around;
  const text = textAt(data, "description_title") || textAt(alert, "title");
  const description = textAt(data, "description_text");
  return {
    ...NOTHING,
    ...idOf(around.id ?? ""),
    text: text === "" ? sentenceOf(around) : text,
    ...(description !== "" && { data: description }),
    severity: action === "resolved" ? "info" : severityOf(action),
    source: textAt(alert, "projects.0", "organization.slug"),
    link: textAt(data, "web_url"),
    tags: tagsOf(around),
    time: timeOf(at(alert, action === "resolved" ? "date_closed" : "date_detected")),
    attributes: attributesOf(alert, around, description === "" ? {} : { description_text: description }),
  };
}

/** Creates the event of a comment, an installation, or an unknown resource. */
function eventOfOther(around: Around): ProducerEvent {
  const { data, body } = around;
  const comment = textAt(data, "comment");
  const source = textAt(data, "project_slug", "project.slug", "installation.organization.slug");
  const who = textAt(body, "actor.name");
  return {
    ...NOTHING,
    ...idOf(around.id ?? ""),
    text: comment === "" ? sentenceOf(around) : `${who || "Somebody"} commented on an issue: ${comment}`,
    source,
    user: who,
    tags: tagsOf(around),
    time: timeOf(data["timestamp"]),
    attributes: attributesOf(data, around),
  };
}

/** Creates the event of a request of the older plugin. */
function eventOfPlugin(body: Fields): ProducerEvent {
  const told = isObject(body["event"]) ? body["event"] : {};
  const stack = stackOf(told);
  const { event: _, ...rest } = body;
  const title = textAt(body, "message", "title", "culprit") || textAt(told, "title", "metadata.title", "message");
  const event = textAt(told, "event_id", "id");
  const around = { action: "", resource: "issue", data: {}, body: {} };
  return {
    ...NOTHING,
    ...idOf(event === "" ? "" : [event, textAt(body, "id"), textAt(body, "triggering_rules.0")].join(" ")),
    text: title,
    ...(stack !== "" && { data: stack }),
    severity: severityOf(textAt(body, "level")) ?? severityOf(textAt(told, "level")),
    source: textAt(body, "project_slug", "project", "project_name"),
    user: textAt(told, "user.username", "user.email", "user.id"),
    link: textAt(body, "url"),
    tags: tagsOf(around),
    time: timeOf(told["timestamp"]) ?? timeOf(told["datetime"]),
    attributes: attributesOf(briefOf(told, stack), around, rest),
  };
}

function idOf(id: string): { readonly id?: string } {
  return id === "" ? {} : { id };
}

function sentenceOf({ resource, action }: Around): string {
  return ["Sentry", resource.replaceAll("_", " "), action].filter((word) => word !== "").join(" ");
}

function tagsOf({ resource, action }: Around): readonly string[] {
  return [resource, action].filter((tag) => tag !== "");
}

/** Returns the project: its name, or, if the event only has its number, its name from a URL. */
function sourceOf(told: Fields): string {
  const named = textAt(told, "project.slug", "project.name", "project_slug", "project_name");
  return named || (PROJECT.exec(textAt(told, "url", "web_url"))?.groups?.["project"] ?? textAt(told, "project"));
}

function attributesOf(told: Fields, { action, resource, body }: Around, more: Fields = {}): Gathered {
  const attributes: Gathered = new Map();
  const around = {
    resource,
    action,
    actor: textAt(body, "actor.name"),
    installation: textAt(body, "installation.uuid"),
  };
  for (const [name, value] of Object.entries(around)) if (value !== "") put(attributes, name, value);
  flattenInto(attributes, more);
  const { tags, ...rest } = told;
  for (const [name, value] of pairsOf(tags)) put(attributes, `tags.${name}`, value);
  flattenInto(attributes, Array.isArray(tags) ? rest : told);
  return attributes;
}

/** Returns a Sentry event without long members, and without an exception that is in the stack. */
function briefOf(told: Fields, stack: string): Fields {
  return Object.fromEntries(
    Object.entries(told).filter(([name]) => !LONG.has(name) && (name !== "exception" || stack === "")),
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
function stackOf(told: Fields): string {
  const exceptions = at(told, "exception.values") ?? at(told, "sentry.interfaces.Exception.values");
  if (!Array.isArray(exceptions)) return "";
  const lines: string[] = [];
  for (const exception of (exceptions as readonly unknown[]).slice(-MOST_EXCEPTIONS).toReversed()) {
    const said = [textAt(exception, "type"), textAt(exception, "value")].filter((part) => part !== "").join(": ");
    if (said !== "") lines.push(lines.length === 0 ? said : `Caused by: ${said}`);
    const frames = at(exception, "stacktrace.frames");
    if (!Array.isArray(frames)) continue;
    for (const frame of (frames as readonly unknown[]).slice(-MOST_FRAMES).toReversed()) lines.push(lineOf(frame));
  }
  return lines.join("\n");
}

function lineOf(frame: unknown): string {
  const where = textAt(frame, "filename", "abs_path", "module") || "?";
  const place = [where, textAt(frame, "lineno"), textAt(frame, "colno")].filter((part) => part !== "").join(":");
  return `    at ${textAt(frame, "function") || "?"} (${place})`;
}
