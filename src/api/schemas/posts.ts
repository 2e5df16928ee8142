import { z } from "zod";

import { FORM_FIELD_NAMES } from "../../events/field-order.ts";
import { KEYWORD_DESCRIPTIONS } from "../../events/schema.ts";
import type { BoundedField } from "../../events/schema.ts";
import { DEFAULT_LIMITS } from "../../events/limits.ts";
import type { FieldLimits } from "../../events/limits.ts";
import { named } from "./named.ts";

/** Schemas of posts for the OpenAPI document. The posting listener does not use them. */

const apikey = z.string().describe("An API key of the log with a writing scope.");

/** A posted field with its default limit, which the operator can change. */
function posted(field: keyof FieldLimits, description: string) {
  return z.string().meta({ description, maxLength: DEFAULT_LIMITS[field] });
}

const CREATED =
  "When it happened: ISO 8601 (UTC without an offset) or milliseconds since 1970; at most 5 minutes ahead.";

const ATTRIBUTES =
  "The producer's own fields. Names of nested fields are joined with dots; " +
  "values are strings, numbers, booleans and arrays of them.";

/** What is said of the posted fields, by name. */
const ABOUT: Readonly<Record<BoundedField, string>> = {
  ...KEYWORD_DESCRIPTIONS,
  text: "What happened; not blank.",
  tags: "Separated by blanks.",
  value: "A decimal number.",
  geo: "`<latitude>,<longitude>` or `ip:<address>`.",
  data: "More text; HTML after a first line `@html`.",
};

/** Returns a schema for each posted field, in the order of {@link FORM_FIELD_NAMES}. */
function eachPosted(schemaOf: (name: BoundedField, text: z.ZodType) => z.ZodType): Record<BoundedField, z.ZodType> {
  return Object.fromEntries(
    FORM_FIELD_NAMES.map((name) => [name, schemaOf(name, posted(name, ABOUT[name]))]),
  ) as Record<BoundedField, z.ZodType>;
}

export const PostForm = named(
  "NewEvent",
  z
    .object({
      apikey,
      ...eachPosted((name, text) => (name === "text" ? text : text.optional())),
      created: z.string().describe(CREATED).optional(),
      attributes: z.string().describe(`A JSON object. ${ATTRIBUTES}`).optional(),
    })
    .meta({ patternProperties: { "^attr\\.": { type: "string", description: "An attribute of this name." } } }),
);

const orNull = (schema: z.ZodType) => schema.nullable().optional();

/** Further forms of posted fields in JSON. */
const JSON_FORMS: Readonly<Partial<Record<BoundedField, (text: z.ZodType) => z.ZodType>>> = {
  tags: (text) => z.union([text, z.array(z.string())]),
  value: (text) => z.union([z.number(), text]),
  geo: (text) =>
    z.union([
      text,
      z.object({ lat: z.number().min(-90).max(90), lon: z.number().min(-180).max(180) }),
      z.object({ ip: z.string() }),
    ]),
};

export const PostLines = named(
  "NewEventOfBatch",
  z
    .object({
      ...eachPosted((name, text) => (name === "text" ? text : orNull(JSON_FORMS[name]?.(text) ?? text))),
      created: orNull(z.union([z.string(), z.number()]).describe(CREATED)),
      attributes: orNull(z.record(z.string(), z.unknown()).describe(ATTRIBUTES)),
    })
    .describe("An event; in application/x-ndjson, one per line."),
);

export const PostBatch = named("NewEvents", z.array(PostLines).min(1).max(5_000));

export const PostJson = named("NewEventOrEvents", z.union([PostLines, PostBatch]));

export const VisitForm = named(
  "NewVisit",
  z.object({
    apikey,
    user: posted("user", "The user seen in the producer's application; not blank."),
    email: posted("email", "Their e-mail address.").optional(),
    page: posted("page", "The address or title of the page they visit.").optional(),
  }),
);
