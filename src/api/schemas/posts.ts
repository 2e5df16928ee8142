import { z } from "zod";

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

export const PostForm = named(
  "NewEvent",
  z
    .object({
      apikey,
      text: posted("text", "What happened; not blank."),
      tags: posted("tags", "Separated by blanks.").optional(),
      source: posted("source", "Where it comes from.").optional(),
      user: posted("user", "The user it concerns.").optional(),
      value: posted("value", "A decimal number.").optional(),
      geo: posted("geo", "`<latitude>,<longitude>` or `ip:<address>`.").optional(),
      link: posted("link", "A URL with more information.").optional(),
      data: posted("data", "More text; HTML after a first line `@html`.").optional(),
      created: z.string().describe(CREATED).optional(),
      attributes: z.string().describe(`A JSON object. ${ATTRIBUTES}`).optional(),
    })
    .meta({ patternProperties: { "^attr\\.": { type: "string", description: "An attribute of this name." } } }),
);

const orNull = <S extends z.ZodType>(schema: S) => schema.nullable().optional();

export const PostLines = named(
  "NewEventOfBatch",
  z
    .object({
      text: posted("text", "What happened; not blank."),
      tags: orNull(z.union([posted("tags", "Separated by blanks."), z.array(z.string())])),
      source: orNull(posted("source", "Where it comes from.")),
      user: orNull(posted("user", "The user it concerns.")),
      value: orNull(z.union([z.number(), posted("value", "A decimal number.")])),
      geo: orNull(
        z.union([
          posted("geo", "`<latitude>,<longitude>` or `ip:<address>`."),
          z.object({ lat: z.number().min(-90).max(90), lon: z.number().min(-180).max(180) }),
          z.object({ ip: z.string() }),
        ]),
      ),
      link: orNull(posted("link", "A URL with more information.")),
      data: orNull(posted("data", "More text; HTML after a first line `@html`.")),
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
