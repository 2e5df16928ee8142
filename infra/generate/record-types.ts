import { z } from "zod";

import * as answers from "../../src/api/schemas/answers.ts";
import { EventRecord } from "../../src/api/schemas/event-answers.ts";

/** Records that the page reads, by the names of their types there. */
const PAGE_RECORDS = {
  EventRecord,
  LogRecord: answers.MemberLogList.element,
  ClassRecord: answers.ClassFilterRecord,
  Account: answers.OwnSession,
  SavedQuery: answers.SavedQueryRecord,
  HookRecord: answers.HookRecord,
  PreviewedEvent: answers.HookPreviewRecord.shape.events.element,
} as const satisfies Record<string, z.ZodType>;

/** Returns the types of the page's records, in TypeScript. */
export function recordTypes(): string {
  return Object.entries(PAGE_RECORDS)
    .map(([name, schema]) => `export type ${name} = ${typeOf(z.toJSONSchema(schema, { io: "output" }))};`)
    .join("\n\n");
}

type Schema = z.core.JSONSchema.BaseSchema;

/** Returns the TypeScript type of a JSON schema. @throws Error for a schema that no record has yet */
function typeOf(schema: Schema): string {
  const { type, anyOf, enum: values, const: constant, items, additionalProperties } = schema;
  if (anyOf !== undefined) return union(anyOf.map(typeOf));
  if (values !== undefined) return union(values.map((value) => JSON.stringify(value)));
  if (constant !== undefined) return JSON.stringify(constant);
  if (Array.isArray(type)) return union((type as Schema["type"][]).map((one) => typeOf({ ...schema, type: one! })));
  if (type === "array") return `readonly (${typeOf(items as Schema)})[]`;
  if (type === "object" && schema.properties !== undefined) return `{ ${propertiesOf(schema).join(" ")} }`;
  if (type === "object") return `Readonly<Record<string, ${typeOf(additionalProperties as Schema)}>>`;
  if (type === "integer" || type === "number") return "number";
  if (type === "string" || type === "boolean" || type === "null") return type;
  if (type === undefined) return "unknown";
  throw new Error(`no TypeScript type for the schema ${JSON.stringify(schema)}`);
}

function union(types: readonly string[]): string {
  return types.map((type) => (type.startsWith("readonly ") ? `(${type})` : type)).join(" | ");
}

function propertiesOf({ properties, required = [] }: Schema): string[] {
  return Object.entries(properties as Record<string, Schema>).map(([name, property]) => {
    const { description } = property;
    const comment = description === undefined ? "" : `\n/** ${description} */\n`;
    return `${comment}readonly ${name}${required.includes(name) ? "" : "?"}: ${typeOf(property)};`;
  });
}
