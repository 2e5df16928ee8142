import { z } from "zod";

import { HOOK_KINDS, HOOK_SIGNATURES } from "../../catalog/hook-checks.ts";
import { STATUS_OF_CODE } from "../../errors.ts";
import type { ErrorCode } from "../../errors.ts";
import { LINE_FIELD_NAMES } from "../../events/field-order.ts";
import { mapKeywords } from "../../events/map-keywords.ts";
import { AGGREGATE_FIELDS } from "../../query/plan.ts";
import {
  EventIdText,
  UserIdText,
  LogKeyText,
  MomentText,
  GeoRecord,
  AttributeValues,
  inOrder,
  EventRecord,
  EventList,
} from "./event-answers.ts";
import { named } from "./named.ts";

/**
 * Schemas of the API's JSON responses: the source of the OpenAPI document, and checked against
 * every JSON response of the scenario tests. Objects are strict, so that an undescribed field fails
 * a test.
 */

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
      .describe("none: never ordered. waiting: ordered, but not started."),
    from: MomentText.nullable().describe("Events created earlier are not reclassified; null: all events are."),
    started: MomentText.nullable().describe("When it was ordered."),
    finished: MomentText.nullable(),
    total: z.int().min(0).nullable().describe("How many events to examine; null until they are counted."),
    done: z.int().min(0).describe("How many were examined. Restarts at 0 if the filters change meanwhile."),
    changed: z.int().min(0).describe("How often an event changed its class."),
    reason: z.string().nullable().describe("Why it failed."),
  }),
);

export const ClassFiltersOfLogs = named(
  "ClassFiltersOfLogs",
  z.array(z.strictObject({ key: LogKeyText, classFilters: ClassFilterList })),
);

const NumberText = z.string().regex(/^-?\d+(\.\d+)?$/);

const EventColumns = EventRecord.extend({ pattern: z.string(), level: z.string() })
  .partial()
  .catchall(AttributeValues.nullable())
  .describe("Columns of an event. The name of an attribute has the prefix `@`; it is null if the event lacks it.");

const Aggregate = named(
  "Aggregate",
  z
    .object({
      ...Object.fromEntries(AGGREGATE_FIELDS.map((name) => [name, name === "key" ? z.string() : NumberText])),
      keys: z.array(z.string()).describe("All keys, if there are several."),
      previous: z.record(z.string(), z.string()).describe("The same columns at an earlier time, with COMPARE."),
    })
    .partial()
    .catchall(z.string())
    .describe(
      'A group; all values are text. Aggregates are those of the field value, "0" if no event has one. ' +
        "COLUMNS selects among them and adds others.",
    ),
);

export const FieldList = named(
  "Fields",
  z
    .array(
      z.strictObject({
        name: z.string().describe("The name of an attribute has the prefix `@` and no quotes."),
        kind: z.enum(["text", "number", "boolean", "mixed", "time", "place"]),
        count: NumberText.describe("How many events have it."),
        values: z
          .array(z.strictObject({ value: z.string(), count: NumberText }))
          .describe("By count, then by text. Empty for created, text, data and geo, whose values rarely repeat."),
      }),
    )
    .describe("The fields of a log's events, counted over the requested range."),
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
    .describe(
      "Users of a producer's application, with their last page, when they were first and last seen, and how often.",
    ),
);

export const QueryAnswer = named(
  "QueryAnswer",
  z
    .union([z.array(EventColumns), z.array(Aggregate), z.array(TrackedUser.partial())])
    .describe("Events, groups or tracked users, depending on the query; COLUMNS selects among their fields."),
);

export const PostAnswer = named("PostedEvent", z.strictObject({ id: EventIdText }));

export const BatchAnswer = named(
  "PostedBatch",
  z.strictObject({
    accepted: z.int().min(0),
    rejected: z.int().min(0).describe("The log got an error event for each of these."),
    items: z
      .array(
        z.union([
          z.strictObject({ id: EventIdText }),
          z.strictObject({ error: z.strictObject({ code: z.literal("bad_event"), message: z.string().min(1) }) }),
        ]),
      )
      .describe("The outcome of each event, in order; if none was accepted, of the first hundred."),
  }),
);

export const PostOrBatchAnswer = named("Posted", z.union([PostAnswer, BatchAnswer]));

export const VisitAnswer = named("PostedUser", z.strictObject({ user: z.string().min(1) }));

export const AccountRecord = named(
  "Account",
  z.strictObject({
    id: UserIdText,
    email: z.string(),
    admin: z.boolean().describe("Service admin: may manage accounts. Grants no access to logs."),
  }),
);

export const OwnSession = named(
  "Session",
  z.strictObject({
    email: z.string(),
    admin: z.boolean().describe("Service admin: may manage accounts. Grants no access to logs."),
    expires: MomentText.describe("When it ends if it is not used again."),
  }),
);

export const SeenRecord = named(
  "AlertsMarked",
  z.strictObject({
    mark: z.string().describe('Identifies the change; `{"seen":false,"mark":…}` reverts it.'),
    count: z.int().min(0).describe("How many alerts it changed."),
  }),
);

export const TicketRecord = named(
  "Ticket",
  z.strictObject({
    ticket: z
      .string()
      .describe("Added to the path as the parameter `ticket`, it authenticates one request, within a minute."),
  }),
);

export const SessionList = named(
  "Sessions",
  z.array(
    z.strictObject({
      id: z.string().describe("Not the secret of the cookie."),
      created: MomentText,
      seen: MomentText.describe("When it was last used; may be up to five minutes old."),
      address: z.string().describe("Where it was created from: an address, or an IPv6 network."),
      agent: z.string().describe("The User-Agent that created it."),
      current: z.boolean().describe("Whether it is the session of this request."),
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
  z.array(z.strictObject({ ...ManagedLogFields, role: z.enum(["admin", "user"]).describe("The caller's role.") })),
);

export const ShareRecord = named("Share", z.strictObject({ email: z.string(), role: z.enum(["admin", "user"]) }));

export const ShareList = named("Shares", z.array(ShareRecord));

const Scope = z.enum(["read-write", "read-only", "write-only"]);
const ApiKeyFields = { id: z.string(), scope: Scope, disabled: z.boolean(), created: MomentText };

export const ApiKeyRecord = named("ApiKey", z.strictObject(ApiKeyFields));

export const ApiKeyList = named("ApiKeys", z.array(ApiKeyRecord));

export const NewApiKeyRecord = named(
  "DrawnApiKey",
  z.strictObject({ ...ApiKeyFields, key: z.string().describe("The key itself, which is shown only once.") }),
);

const OptionFields = { alert: z.boolean(), notify: z.boolean(), hide: z.boolean() };

export const PostingAddressRecord = named(
  "PostingAddress",
  z.strictObject({ url: z.string().nullable(), port: z.number(), mail: z.boolean() }),
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
    owner: z.string().describe("The e-mail address of the user who saved it."),
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
    secret: z.string().nullable().describe("A generated secret, which is shown only once; null if none was generated."),
  }),
);

export const HookPreviewRecord = named(
  "HookPreview",
  z.strictObject({
    events: z
      .array(
        z.strictObject({
          created: MomentText.nullable().describe("null: the time at which the request arrives."),
          ...inOrder(LINE_FIELD_NAMES, {
            ...mapKeywords(() => z.string()),
            text: z.string(),
            tags: z.array(z.string()),
            value: z.number().nullable(),
            geo: GeoRecord.nullable(),
            data: z.string().nullable(),
          }),
          attributes: z.record(z.string(), AttributeValues),
        }),
      )
      .max(10)
      .describe("The first events of the body."),
    more: z.boolean().describe("Whether the body has more events."),
    fault: z.string().nullable().describe("The first fault among items that are left out; null if there is none."),
  }),
);

export const ErrorRecord = named(
  "Error",
  z.strictObject({
    error: z.strictObject({
      status: z.int().min(400).max(599),
      code: z.enum(Object.keys(STATUS_OF_CODE) as [ErrorCode, ...ErrorCode[]]),
      message: z.string().min(1).describe("What is wrong, and what would be right."),
    }),
  }),
);

export const OpenApiDocument = named("OpenApi", z.looseObject({ openapi: z.string() }).describe("This document."));
