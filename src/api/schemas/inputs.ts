import { FILTERED_FIELDS } from "../../events/keywords.ts";
import type { FilteredField } from "../../events/keywords.ts";
import { z } from "zod";

import { HOOK_KINDS, HOOK_SIGNATURES } from "../../catalog/hook-checks.ts";
import { parseLogKey } from "../../events/event.ts";
import { parseEventId } from "../../events/id.ts";
import { LEVEL_WORDS } from "../../events/level.ts";
import { named } from "./named.ts";

/**
 * Schemas of requests to the API; `posts.ts` has those of producers. They check forms and JSON
 * bodies, and describe them in the OpenAPI document. Lengths are in code points, as JSON Schema
 * counts them and zod does not; so they are only described here, and the catalog checks them.
 */

const display = z.string().meta({ description: "A name for people.", minLength: 1, maxLength: 200 });
const password = z.string().meta({ minLength: 8, maxLength: 200, format: "password" });

export const NewLog = named(
  "NewLog",
  z.object({
    key: z
      .string()
      .meta({ description: "Case does not matter.", pattern: "^[A-Za-z0-9][A-Za-z0-9-]{0,62}$" })
      .transform(
        (text, context) =>
          parseLogKey(text) ??
          fault(
            context,
            "a free log key: 1 to 63 letters a to z, digits and hyphens, " +
              "not beginning with a hyphen, and not bookmarks, alerts or classfilters",
          ),
      ),
    display,
  }),
);

export const NewBookmark = named(
  "NewBookmark",
  z.object({
    id: z
      .string()
      .meta({ description: "The id of an event of this log.", pattern: "^\\s*[0-9A-Fa-f]{24}\\s*$" })
      .transform((text, context) => parseEventId(text.trim()) ?? fault(context, "the id of an event: 24 hex digits")),
  }),
);

export const AlertSeen = named("AlertSeen", z.object({ seen: z.boolean() }));

export const AlertsSeen = named(
  "AlertsSeen",
  z
    .object({
      seen: z.boolean(),
      until: z.string().optional().meta({
        description: "With seen: the id of the last event whose alert is marked; absent: all alerts.",
        pattern: "^[0-9A-Fa-f]{24}$",
      }),
      mark: z.string().optional().meta({
        description: "Without seen: the mark returned by the call to revert.",
        pattern: "^[0-9a-f]{16}$",
      }),
    })
    .transform(({ seen, until, mark }, context) => {
      const last = until === undefined ? null : parseEventId(until);
      if (until !== undefined && last === null)
        return fault(context, "The field until must be an event's id: 24 hex digits");
      if (seen) return { seen, until: last };
      if (mark !== undefined && /^[0-9a-f]{16}$/.test(mark)) return { seen, mark };
      return fault(context, "With seen false, the field mark must be the mark that was returned: 16 hex digits");
    }),
);

export const NewAccount = named(
  "NewAccount",
  z.object({
    email: z.string().meta({ format: "email", maxLength: 254 }),
    password,
    admin: z.boolean().default(false),
  }),
);

export const NewPassword = named("NewPassword", z.object({ password }));

export const SignIn = named(
  "SignIn",
  z
    .object({
      email: z.string(),
      password: z.string().meta({ format: "password" }),
      ticket: z
        .string()
        .meta({ description: "The ticket that the first start printed, instead of e-mail and password." }),
    })
    .partial()
    .transform(({ email, password, ticket }, context) => {
      if (ticket !== undefined) return { ticket };
      if (email !== undefined && password !== undefined) return { email, password };
      return fault(context, "Give email and password, or ticket");
    }),
);

export const NewTicket = named(
  "NewTicket",
  z.object({
    path: z.string().meta({ description: "With its query string, such as `/1/logs/shop/export?format=csv`." }),
  }),
);

export const LogChange = named(
  "LogChange",
  z
    .object({
      display,
      retentionDays: z
        .number()
        .nullable()
        .meta({ description: "How long events are kept, in whole days; null: for ever.", minimum: 1, maximum: 36_500 }),
      origins: z.array(z.string()).meta({
        description:
          "Origins of pages that may post from a browser, such as `https://shop.example.org`; `*`: any page.",
        maxItems: 50,
      }),
    })
    .partial()
    .refine((change) => Object.values(change).some((value) => value !== undefined), {
      error: "The body changes nothing; give display, retentionDays or origins",
    })
    .meta({ minProperties: 1 }),
);

export const NewShare = named("NewShare", z.object({ role: z.enum(["admin", "user"]) }));

export const NewKey = named("NewApiKey", z.object({ scope: z.enum(["read-write", "read-only", "write-only"]) }));

export const KeyChange = named("ApiKeyChange", z.object({ disabled: z.boolean() }));

const condition = z.string().default("").meta({ maxLength: 200 });

/** Fields of a filter except its key. */
export const FilterFields = named(
  "ClassFilterFields",
  z
    .object({
      display: z.string().default("").meta({ maxLength: 200 }),
      color: z.string().default("gray").meta({ description: "As in CSS.", minLength: 1, maxLength: 40 }),
      tag: condition.describe("One of the event's tags."),
      text: condition.describe("Part of the event's text."),
      link: condition.describe("Part of the event's link."),
      source: condition.describe("The event's source."),
      weight: z.number().default(0).meta({
        description: "A whole number. Of the filters that match, the one with the highest weight assigns the class.",
        minimum: -1_000_000,
        maximum: 1_000_000,
      }),
    })
    .describe("An event matches if it meets every condition that is not empty; at least one is required."),
);

/** Field parsed by `readMomentField`. */
const moment = (what: string) =>
  z
    .union([z.number(), z.string()], { error: "a moment: milliseconds since 1970-01-01 UTC, or ISO 8601" })
    .optional()
    .describe(`${what}: milliseconds since the Unix epoch, or ISO 8601.`);

/** Conditions of an unsaved filter, and the range of events to test it on. */
export const PreviewedFilter = named(
  "PreviewedClassFilter",
  FilterFields.pick({ tag: true, text: true, link: true, source: true }).extend({
    from: moment("Only events created from this moment on"),
    to: moment("Only events created before this moment"),
  }),
);

/** Events to reclassify by the current filters. */
export const ReclassifyOrder = named(
  "ReclassifyOrder",
  z.object({
    from: moment("Only events created from this moment on"),
  }),
);

export const NewFilter = named(
  "NewClassFilter",
  z.preprocess(
    // The catalog reports all errors at once, so a missing key must not end the check here.
    (body) => (typeof body === "object" && body !== null && !Array.isArray(body) ? { key: "", ...body } : body),
    FilterFields.extend({ key: z.string().meta({ pattern: "^[A-Za-z0-9][A-Za-z0-9-]{0,62}$" }) }),
  ),
);

export const Options = named(
  "NewClassOptions",
  z.object({
    alert: z.boolean().default(false).describe("Create alerts for events of this class."),
    notify: z.boolean().default(false).describe("Send mail about them."),
    hide: z.boolean().default(false).describe("For user interfaces; lists of the API contain all events."),
  }),
);

const queryName = z.string().meta({ description: "Case does not matter.", minLength: 1, maxLength: 100 });
const queryFields = {
  query: z
    .string({ error: "a query in LQL, such as GET events GROUPBY source" })
    .meta({ description: "In LQL, such as `GET events GROUPBY source`.", minLength: 1, maxLength: 4096 }),
  tz: z
    .union([z.string(), z.number()])
    .default("")
    .transform(String)
    .meta({ description: "Like the parameter `tz` of a query; empty: UTC." }),
  shared: z.boolean().default(false).describe("Whether everyone who may read the log may run it."),
};

/** Changed fields of a saved query, which keeps its name if none is given. */
export const SavedQueryFields = named("SavedQueryFields", z.object({ name: queryName.optional(), ...queryFields }));

export const NewSavedQuery = named("NewSavedQuery", z.object({ name: queryName, ...queryFields }));

const hookFields = {
  kind: z
    .enum(HOOK_KINDS)
    .optional()
    .describe(
      "The service that posts, which decides how a body is interpreted. Default: by the name, otherwise `json`.",
    ),
  signature: z
    .enum(HOOK_SIGNATURES)
    .optional()
    .describe("How requests are signed; absent: with a secret, like senders of this kind; without one, `none`."),
  secret: z.string().nullable().optional().meta({
    description:
      "The secret that signs requests. Absent: generated for a new hook, kept by a change. null: generated anew.",
    minLength: 8,
    maxLength: 200,
    format: "password",
  }),
  template: z
    .record(z.string(), z.unknown())
    .nullable()
    .optional()
    .describe(
      "Maps a body to events: text, data, severity, source, user, link, value, created, id and tags are texts " +
        "with paths in braces; each is the path of a list whose items are events.",
    ),
};

/** Fields of a hook except its name. */
export const HookFields = named("HookFields", z.object(hookFields));

export const NewHook = named(
  "NewHook",
  z.object({ name: z.string().meta({ pattern: "^[A-Za-z0-9][A-Za-z0-9-]{0,62}$" }), ...hookFields }),
);

/** An example body, with the settings of a hook that decide how it is decoded. */
export const PreviewedHook = named(
  "PreviewedHook",
  z.object({
    kind: hookFields.kind,
    template: hookFields.template,
    body: z
      .string()
      .describe("The body as text: JSON, or the `content-type` in `headers`. The whole request has at most 64 KB."),
    headers: z
      .record(z.string(), z.string())
      .optional()
      .describe("Headers of the request, by name, such as `X-GitHub-Event`."),
  }),
);

/** Parameters of lists. `planFilters` parses them; a test compares the two. */
export const ListQuery = z.object({
  pagenum: z.int().min(1).max(2_000_000).default(1).describe("The number of the page."),
  pagesize: z.int().min(1).max(500).default(100).describe("How many records a page has."),
  order: z.enum(["asc", "desc"]).default("asc").describe("By created, then by id; with sinceid, by id."),
  tags: z.string().describe("Tags, separated by blanks; the event has all of them."),
  text: z.string().describe("An RE2 regular expression that matches anywhere in the text, ignoring case."),
  sinceid: z
    .string()
    .regex(/^[0-9A-Fa-f]{24}$/)
    .describe("Only events accepted after the event with this id, which may have been deleted."),
  ...(Object.fromEntries(
    FILTERED_FIELDS.map((name) => [name, z.string().describe(`The ${name}, ignoring case.`)]),
  ) as Record<FilteredField, z.ZodString>),
  class: z.string().describe("The class, ignoring case."),
  level: z
    .enum(LEVEL_WORDS)
    .describe("The most severe level that the tags name, ignoring case. All words of a level name the same."),
  created: z
    .string()
    .regex(/^(-?\d{1,16}(:(-?\d{1,16})?)?|:-?\d{1,16})$/)
    .describe("`<from>`, `<from>:<to>` or `:<to>` in milliseconds since the Unix epoch; from inclusive, to exclusive."),
});

/** Parameters for additional fields in events. */
export const ShownQuery = z.object({
  attributes: z.enum(["true", "false"]).default("false").describe("Whether each event shows its attributes."),
});

/** Parameters of lists and queries that return a total. */
const CountedQuery = z.object({
  total: z.enum(["exact"]).describe("Counts all records in `X-Total-Count`, also more than 10,000."),
});

/** Attribute filters, which are parameters of their own, such as `attr.http.status=500`. */
const AttributeFilters = z.object({
  attributeFilters: z
    .record(z.string().regex(/^attr\./), z.string())
    .describe(
      "`attr.<name>=<value>`: the attribute has this value, ignoring case; compared as numbers if both are. " +
        "Each name once; an empty value means an empty text.",
    ),
});

/** Parameters of event lists. */
export const EventListQuery = ListQuery.extend({
  ...ShownQuery.shape,
  ...CountedQuery.shape,
  ...AttributeFilters.shape,
});

/** Parameters of alert lists. */
export const AlertListQuery = EventListQuery.extend({
  state: z.enum(["seen", "unseen"]).describe("Only alerts that the caller has marked as seen, or has not."),
});

/** Parameters of the list of a log's fields. */
export const FieldsQuery = z.object({
  prefix: z.string().describe("Only names with this prefix, case-sensitive; names of attributes begin with `@`."),
  created: ListQuery.shape.created,
  values: z.int().min(0).max(100).default(10).describe("Maximum number of values per field."),
});

/** Parameters of a list with pages and without filters. */
export const PageQuery = ListQuery.pick({ pagenum: true, pagesize: true }).extend(CountedQuery.shape);

const neighbours = z.int().min(0).max(250).default(20);

/** Parameters of an event's context. */
export const ContextQuery = ListQuery.omit({ pagenum: true, pagesize: true, order: true }).extend({
  ...AttributeFilters.shape,
  before: neighbours.describe("How many events before it."),
  after: neighbours.describe("How many events after it."),
});

/** Parameters that select the records of a stream: list filters, or a query. */
const found = ListQuery.omit({ pagenum: true, pagesize: true }).extend({
  ...AttributeFilters.shape,
  ...ShownQuery.shape,
  query: z.string().max(4096).describe("In LQL, such as `GET events WHERE source = 'web'`, instead of filters."),
  saved: z.string().max(100).describe("The name of a saved query, instead of `query`."),
  tz: z.union([z.number(), z.string()]).default(0).describe("The time zone of the query."),
});

/** Parameters of an export. */
export const ExportQuery = found.extend({
  format: z
    .enum(["ndjson", "csv", "xml"])
    .describe("Absent: `fmt`, or what Accept prefers, or else `ndjson`.")
    .optional(),
  trailer: z
    .boolean()
    .default(false)
    .describe(
      'With format=ndjson: whether a last line `{"complete":true,"count":n}` confirms that the export is complete.',
    ),
});

/** Parameters of a tail. */
export const TailQuery = found.omit({ order: true, sinceid: true }).extend({
  last: z.int().min(0).max(500).default(0).describe("How many of the stored events come first."),
});

/** Parameters of a query, which `planQuery` and `parseZone` read. */
export const LqlQuery = ShownQuery.extend({
  ...CountedQuery.shape,
  query: z.string().min(1).max(4096).describe("In LQL, such as `GET events OCCURS(TODAY) GROUPBY source`."),
  saved: z.string().min(1).max(100).describe("The name of a saved query, instead of `query`."),
  tz: z
    .union([z.number().min(-12).max(14), z.string().max(64)])
    .default(0)
    .describe(
      "Time zone of days, hours and TODAY: hours from UTC, fractions allowed, or a name such as `Europe/Berlin`.",
    ),
});

/** Reports what the field must be. */
function fault(context: z.core.$RefinementCtx, mustBe: string): never {
  context.issues.push({ code: "custom", message: mustBe, input: context.value, params: { mustBe } });
  return z.NEVER;
}
