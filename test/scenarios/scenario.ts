import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";

/**
 * The format of a scenario file, explained in `README.md` beside this file. Unknown names are
 * errors, so that a misspelt check cannot pass.
 */
const Text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const Texts = z.record(z.string(), Text);

const SeedEvent = z.strictObject({
  name: z.string(),
  log: z.string(),
  created: z.string(),
  text: z.string(),
  link: z.string().default(""),
  tags: z.array(z.string()).default([]),
  source: z.string().default(""),
  user: z.string().default(""),
  value: z.number().nullable().default(null),
  geo: z
    .union([z.strictObject({ lat: z.number(), lon: z.number() }), z.strictObject({ ip: z.string() })])
    .nullable()
    .default(null),
  data: z.string().nullable().default(null),
  attributes: z.record(z.string(), z.json()).nullable().default(null),
  class: z.string().nullable().default(null),
  bookmarkedBy: z.array(z.string()).default([]),
  alerted: z.array(z.string()).default([]),
});

const SeedClassFilter = z.strictObject({
  key: z.string(),
  display: z.string().default(""),
  color: z.string().default("red"),
  tag: z.string().default(""),
  text: z.string().default(""),
  link: z.string().default(""),
  source: z.string().default(""),
  weight: z.number().default(0),
});

const SeedLog = z.strictObject({
  display: z.string().default("A log"),
  admin: z.string(),
  users: z.array(z.string()).default([]),
  apiKeys: z.record(z.string(), z.enum(["read-write", "read-only", "write-only"])).default({}),
  classFilters: z.array(SeedClassFilter).default([]),
});

const Step = z.strictObject({
  name: z.string(),
  as: z.string().optional(),
  request: z.string().regex(/^[A-Z]+ (post:)?\//),
  query: Texts.default({}),
  headers: Texts.default({}),
  form: Texts.optional(),
  send: z.unknown().optional(),
  data: z.string().optional(),
  status: z.number(),
  answers: Texts.default({}),
  without: z.array(z.string()).default([]),
  body: z.string().optional(),
  contains: z.array(z.string()).default([]),
  json: z.unknown().optional(),
  column: z.record(z.string(), z.array(z.unknown())).default({}),
  error: z.string().optional(),
  keep: z.record(z.string(), z.string()).default({}),
});

const Scenario = z.strictObject({
  scenario: z.string(),
  accounts: z.array(z.string()).default(["ann"]),
  serviceAdmins: z.array(z.string()).default([]),
  as: z.string().default("ann"),
  logs: z.record(z.string(), SeedLog).default({}),
  events: z.array(SeedEvent).default([]),
  steps: z.array(Step).min(1),
});

export type Scenario = z.infer<typeof Scenario>;
export type Step = z.infer<typeof Step>;
export type SeedEvent = z.infer<typeof SeedEvent>;

/**
 * Returns every scenario of this folder, by file.
 * @throws Error with the file and the fault
 */
export function readScenarios(): { readonly file: string; readonly scenario: Scenario }[] {
  const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith(".yaml"));
  if (files.length === 0) throw new Error(`no scenario lies in ${import.meta.dirname}`);
  return files.toSorted().map((file) => {
    const content: unknown = parse(readFileSync(join(import.meta.dirname, file), "utf8"));
    const result = Scenario.safeParse(content);
    if (!result.success) throw new Error(`${file}: ${z.prettifyError(result.error)}`);
    return { file, scenario: result.data };
  });
}
