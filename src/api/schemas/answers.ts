import { z } from "zod";

import { HOOK_KINDS, HOOK_SIGNATURES } from "../../catalog/hook-checks.ts";
import { STATUS_OF_CODE } from "../../errors.ts";
import type { ErrorCode } from "../../errors.ts";
import { named } from "./named.ts";

/**
 * Schemas of the API's JSON responses: the source of the OpenAPI document, and checked against
 * every JSON response of the scenario tests. Objects are strict, so that an undescribed field fails
 * a test.
 */

const EventIdText = named(
  "EventId",
  z
    .string()
    .regex(/^[0-9a-f]{24}$/)
    .describe("24 hex digits, rising with the time of acceptance; the first 8 are the second in which it was."),
);

const UserIdText = named(
  "UserId",
  z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .describe("The permanent id of an account."),
);

export const LogKeyText = named(
  "LogKey",
  z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
    .describe("The key of a log. Case does not matter in requests."),
);

export const MomentText = named(
  "Moment",
  z
    .string()
    .regex(/^\/Date\(-?\d+\)\/$/)
    .describe(
      "Milliseconds since the Unix epoch (UTC). Its slashes are escaped on the wire; XML holds ISO 8601 instead.",
    ),
);

const GeoRecord = named(
  "Geo",
  z
    .union([
      z.strictObject({ lat: z.number().min(-90).max(90), lon: z.number().min(-180).max(180) }),
      z.strictObject({ ip: z.string() }),
    ])
    .describe("Where it happened, in degrees (WGS 84); the address alone where nothing says where that is."),
);

const AttributeValue = z.union([z.string(), z.number(), z.boolean()]);
const AttributeValues = named(
  "AttributeValues",
  z.union([AttributeValue, z.array(AttributeValue).min(1)]).describe("What was posted: one value, or several."),
);

export const EventRecord = named(
  "Event",
  z.strictObject({
    id: EventIdText,
    created: MomentText,
    text: z.string(),
    link: z.string().describe('"" where absent, as source and user.'),
    hash: z
      .string()
      .regex(/^[A-Za-z0-9+/]{22}==$/)
      .describe("Equal for equal texts: base64 of 16 bytes."),
    tags: z.array(z.string()),
    source: z.string(),
    log: LogKeyText,
    class: z.string().nullable().describe("The class that the event was given by the log's class filters."),
    data: z.boolean().describe("Whether the event carries data, which has an address of its own."),
    geo: GeoRecord.nullable(),
    value: z.number().nullable(),
    user: z.string(),
    filter: z.string().nullable().describe("The key of the class filter that gave the class."),
    bookmarks: z.array(UserIdText).describe("Who bookmarked it."),
    alerts: z.array(UserIdText).min(1).nullable().describe("Who was alerted; null where nobody was."),
    attributes: z
      .record(z.string(), AttributeValues)
      .optional()
      .describe("The producer's own fields, by name, where they are asked for."),
  }),
);

export const EventList = named("Events", z.array(EventRecord));

export const EventData = named(
  "EventData",
  z.string().nullable().describe("As it was posted; null where there is none."),
);

export const LogRecord = named("Log", z.strictObject({ key: LogKeyText, display: z.string() }));

export const LogList = named("Logs", z.array(LogRecord));

export const ClassFilterRecord = named(
  "ClassFilter",
  z.strictObject({
    key: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/),
    display: z.string(),
    color: z.string(),
    tag: z.string(),
    text: z.string(),
    link: z.string(),
    source: z.string(),
    weight: z.int(),
  }),
);

export const ClassFilterList = named("ClassFilters", z.array(ClassFilterRecord));

export const ClassPreview = named(
  "ClassPreview",
  z.strictObject({
    count: z.int().min(0).describe("How many events of the range match."),
    events: EventList.describe("The newest ten of them, newest first."),
  }),
);

export const ReclassificationRecord = named(
  "Reclassification",
  z.strictObject({
    state: z
      .enum(["none", "waiting", "running", "done", "failed"])
      .describe("none: nobody has ordered it yet. waiting: it was ordered and has not begun."),
    from: MomentText.nullable().describe("Events created earlier stay as they are; null: none."),
    started: MomentText.nullable().describe("When it was ordered."),
    finished: MomentText.nullable(),
    total: z.int().min(0).nullable().describe("How many events there are to look at; null until they are counted."),
    done: z.int().min(0).describe("How many were looked at. Begins again where the filters change meanwhile."),
    changed: z.int().min(0).describe("How often an event got another class."),
    reason: z.string().nullable().describe("Why it failed."),
  }),
);

export const ClassFiltersOfLogs = named(
  "ClassFiltersOfLogs",
  z.array(z.strictObject({ key: LogKeyText, classFilters: ClassFilterList })),
);

const NumberText = z.string().regex(/^-?\d+(\.\d+)?$/);

const EventColumns = EventRecord.extend({ pattern: z.string() })
  .partial()
  .catchall(AttributeValues.nullable())
  .describe("Columns of an event; an attribute has its name with `@`, and is null where the event has none.");

const Aggregate = named(
  "Aggregate",
  z
    .object({
      key: z.string(),
      count: NumberText,
      avg: NumberText,
      sum: NumberText,
      min: NumberText,
      max: NumberText,
      keys: z.array(z.string()).describe("All keys, where there are several."),
      previous: z.record(z.string(), z.string()).describe("The same columns of an earlier time, where COMPARE asks."),
    })
    .partial()
    .catchall(z.string())
    .describe(
      'A group, all in text. Aggregates are of value, "0" where no event has one. ' +
        "COLUMNS picks among them, and adds others.",
    ),
);

export const FieldList = named(
  "Fields",
  z
    .array(
      z.strictObject({
        name: z.string().describe("An attribute's with `@` before it, unquoted."),
        kind: z.enum(["text", "number", "boolean", "mixed", "time", "place"]),
        count: NumberText.describe("How many events have it."),
        values: z
          .array(z.strictObject({ value: z.string(), count: NumberText }))
          .describe("By count, then by text. None of created, text, data and geo, which hardly repeat."),
      }),
    )
    .describe("What events of the log have, counted over the range that was asked for."),
);

const TrackedUser = z.strictObject({
  user: z.string(),
  email: z.string(),
  page: z.string(),
  created: MomentText,
  seen: MomentText,
  count: z.int().min(1),
});

export const TrackedUserList = named(
  "TrackedUsers",
  z
    .array(TrackedUser)
    .describe("Users of a producer's application: the last page, first and last seen, and how often."),
);

export const QueryAnswer = named(
  "QueryAnswer",
  z
    .union([z.array(EventColumns), z.array(Aggregate), z.array(TrackedUser.partial())])
    .describe("Events, groups or tracked users, as the query asks; COLUMNS picks among their fields."),
);

export const PostAnswer = named("PostedEvent", z.strictObject({ id: EventIdText }));

export const BatchAnswer = named(
  "PostedBatch",
  z.strictObject({
    accepted: z.int().min(0),
    rejected: z.int().min(0).describe("Of these the log got error events."),
    items: z
      .array(
        z.union([
          z.strictObject({ id: EventIdText }),
          z.strictObject({ error: z.strictObject({ code: z.literal("bad_event"), message: z.string().min(1) }) }),
        ]),
      )
      .describe("What became of each event, in order; where none was accepted, of the first hundred."),
  }),
);

export const PostOrBatchAnswer = named("Posted", z.union([PostAnswer, BatchAnswer]));

export const VisitAnswer = named("PostedUser", z.strictObject({ user: z.string().min(1) }));

export const AccountRecord = named(
  "Account",
  z.strictObject({
    id: UserIdText,
    email: z.string(),
    admin: z.boolean().describe("Service admin: may manage accounts. Gives no right on logs."),
  }),
);

export const OwnSession = named(
  "Session",
  z.strictObject({
    email: z.string(),
    admin: z.boolean().describe("Service admin: may manage accounts. Gives no right on logs."),
    expires: MomentText.describe("When it ends where it is not used any more."),
  }),
);

export const SeenRecord = named(
  "AlertsMarked",
  z.strictObject({
    mark: z.string().describe('Names the change; `{"seen":false,"mark":…}` takes it back.'),
    count: z.int().min(0).describe("How many alerts it changed."),
  }),
);

export const TicketRecord = named(
  "Ticket",
  z.strictObject({
    ticket: z.string().describe("Added to the path as the parameter `ticket`, it opens it once, within a minute."),
  }),
);

export const SessionList = named(
  "Sessions",
  z.array(
    z.strictObject({
      id: z.string().describe("Not the secret of the cookie."),
      created: MomentText,
      seen: MomentText.describe("When it was last used; may lag five minutes behind."),
      address: z.string().describe("Where it began: an address, or a network of IPv6."),
      agent: z.string().describe("The User-Agent that began it."),
      current: z.boolean().describe("Whether it is the one that asks."),
    }),
  ),
);

export const AccountList = named("Accounts", z.array(AccountRecord));

const ManagedLogFields = {
  key: LogKeyText,
  display: z.string(),
  plan: z.literal("development"),
  retentionDays: z.int().min(1).nullable().describe("null: events are kept for ever."),
  origins: z.array(z.string()).describe("Origins of pages that may post from a browser; `*`: any page."),
};

export const ManagedLogRecord = named("ManagedLog", z.strictObject(ManagedLogFields));

export const MemberLogList = named(
  "MemberLogs",
  z.array(z.strictObject({ ...ManagedLogFields, role: z.enum(["admin", "user"]).describe("The caller's.") })),
);

export const ShareRecord = named("Share", z.strictObject({ email: z.string(), role: z.enum(["admin", "user"]) }));

export const ShareList = named("Shares", z.array(ShareRecord));

const Scope = z.enum(["read-write", "read-only", "write-only"]);
const ApiKeyFields = { id: z.string(), scope: Scope, disabled: z.boolean(), created: MomentText };

export const ApiKeyRecord = named("ApiKey", z.strictObject(ApiKeyFields));

export const ApiKeyList = named("ApiKeys", z.array(ApiKeyRecord));

export const NewApiKeyRecord = named(
  "DrawnApiKey",
  z.strictObject({ ...ApiKeyFields, key: z.string().describe("The key itself, which is shown this once.") }),
);

const OptionFields = { alert: z.boolean(), notify: z.boolean(), hide: z.boolean() };

export const PostingAddressRecord = named(
  "PostingAddress",
  z.strictObject({ url: z.string().nullable(), port: z.number() }),
);

export const OptionsRecord = named("ClassOptions", z.strictObject(OptionFields));

export const OptionsList = named("ClassOptionsList", z.array(z.strictObject({ key: z.string(), ...OptionFields })));

export const SavedQueryRecord = named(
  "SavedQuery",
  z.strictObject({
    name: z.string(),
    query: z.string(),
    tz: z.string(),
    shared: z.boolean(),
    owner: z.string().describe("The e-mail address of the person who saved it."),
  }),
);

export const SavedQueryList = named("SavedQueries", z.array(SavedQueryRecord));

const HookShape = {
  name: z.string(),
  kind: z.enum(HOOK_KINDS),
  signature: z.enum(HOOK_SIGNATURES),
  template: z.record(z.string(), z.unknown()).nullable(),
  created: MomentText,
  path: z.string().describe("Where the sender posts, at the posting address."),
};

export const HookRecord = named("Hook", z.strictObject(HookShape));

export const HookList = named("Hooks", z.array(HookRecord));

export const ChangedHookRecord = named(
  "ChangedHook",
  z.strictObject({
    ...HookShape,
    secret: z.string().nullable().describe("What was drawn, which is shown this once; null where nothing was."),
  }),
);

export const ErrorRecord = named(
  "Error",
  z.strictObject({
    error: z.strictObject({
      status: z.int().min(400).max(599),
      code: z.enum(Object.keys(STATUS_OF_CODE) as [ErrorCode, ...ErrorCode[]]),
      message: z.string().min(1).describe("What was wrong, and what would be right."),
    }),
  }),
);

export const OpenApiDocument = named("OpenApi", z.looseObject({ openapi: z.string() }).describe("This document."));
