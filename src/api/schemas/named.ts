import { z } from "zod";

/** Schemas with a name in the OpenAPI document. */
export const NAMED_SCHEMAS = z.registry<{ id: string }>();

/** Gives a schema its name. */
export function named<S extends z.ZodType>(id: string, schema: S): S {
  NAMED_SCHEMAS.add(schema, { id });
  return schema;
}

/** Returns the name of a schema. @throws Error if it has none, a mistake in an operation */
export function schemaName(schema: z.ZodType): string {
  const name = NAMED_SCHEMAS.get(schema)?.id;
  if (name === undefined) throw new Error("a schema of an operation has no name");
  return name;
}
