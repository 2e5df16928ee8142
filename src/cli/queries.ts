import { call, type ServiceOptions } from "./call.ts";
import { at, readMoment, type CommandOutput } from "./manage.ts";
import { CommandError } from "./request.ts";
import { painter } from "./paint.ts";
import { printable, table } from "./terminal.ts";

/** A record of a response, as in the API's JSON. */
type Fields = Readonly<Record<string, unknown>>;
type SavedQuery = {
  readonly name: string;
  readonly query: string;
  readonly tz: string;
  readonly shared: boolean;
  readonly owner: string;
};

/** A query given by its text or by the name of a saved query. */
export type QueryInput = {
  readonly log: string;
  readonly text: string | undefined;
  readonly saved: string | undefined;
  readonly tz: string | undefined;
};

/** Wide or rarely set fields, which only `--json` and COLUMNS show. */
const OMITTED_FIELDS: ReadonlySet<string> = new Set([
  "id",
  "hash",
  "log",
  "link",
  "data",
  "filter",
  "bookmarks",
  "alerts",
]);
const BAR_CHARACTERS = 40;
const LEAST_BAR_CHARACTERS = 5;
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"] as const;

/** Runs a query. Shows records as a table, and groups with a bar for each count. */
export async function runQuery(options: ServiceOptions, { log, text, saved, tz }: QueryInput): Promise<CommandOutput> {
  if ((text === undefined) === (saved === undefined)) {
    throw new CommandError(
      "Give either a query, such as 'GET events TAKE 10', or --saved with the name of a saved one",
    );
  }
  const parameters = new URLSearchParams();
  if (text !== undefined) parameters.set("query", text);
  if (saved !== undefined) parameters.set("saved", saved);
  if (tz !== undefined) parameters.set("tz", tz);
  const value = (await call(
    options,
    "GET",
    `/1/logs/${encodeURIComponent(log)}/query?${parameters.toString()}`,
  )) as Fields[];
  if (value.length === 0) return { value, text: "nothing found" };
  if (isGrouped(value)) return { value, text: chart(value) };
  const colors = value.some((record) => typeof record["class"] === "string")
    ? await readClassColors(options, log)
    : new Map();
  const paint = (line: string, index: number): string => painter(colors.get(value[index - 1]?.["class"]))(line);
  return { value, text: recordTable(value), paint };
}

export async function listSaved(options: ServiceOptions, log: string): Promise<CommandOutput> {
  const value = (await call(options, "GET", at("logs", log, "queries"))) as SavedQuery[];
  const rows = value.map(({ name, owner, shared, tz, query }) => [name, owner, shared ? "yes" : "no", tz, query]);
  return { value, text: table(["NAME", "OWNER", "SHARED", "TZ", "QUERY"], rows) };
}

export async function save(
  options: ServiceOptions,
  log: string,
  query: Omit<SavedQuery, "owner">,
): Promise<CommandOutput> {
  const value = await call(options, "POST", at("logs", log, "queries"), { json: query });
  return { value, text: `query ${printable(query.name)} of log ${printable(log)} saved` };
}

export async function removeSaved(options: ServiceOptions, log: string, name: string): Promise<CommandOutput> {
  const value = await call(options, "DELETE", at("logs", log, "queries", name));
  return { value, text: `query ${printable(name)} of log ${printable(log)} removed` };
}

/** Returns the CSS colour of each class of a log. */
export async function readClassColors(options: ServiceOptions, log: string): Promise<Map<unknown, string>> {
  const path = `/1/logs/${encodeURIComponent(log)}/classFilters`;
  const filters = (await call(options, "GET", path)) as { readonly key: string; readonly color: string }[];
  return new Map(filters.map(({ key, color }) => [key, color]));
}

/** Only groups have a count of type text. */
function isGrouped(records: readonly Fields[]): boolean {
  return records.every((record) => !("text" in record) && !("user" in record) && hasTexts(record));
}

function hasTexts(record: Fields): boolean {
  return "key" in record || typeof record["count"] === "string";
}

function recordTable(records: readonly Fields[]): string {
  const first = records[0]!;
  const isWhole = "id" in first && "alerts" in first;
  const names = Object.keys(first).filter((name) => !isWhole || !OMITTED_FIELDS.has(name));
  // The text is the widest column, so it comes last.
  const columns = names.includes("text") ? [...names.filter((name) => name !== "text"), "text"] : names;
  const used = columns.filter((name) => !isWhole || records.some((record) => show(record[name]) !== ""));
  const rows = records.map((record) => used.map((name) => show(record[name])));
  return table(used.map(heading), rows);
}

/** Attribute names are case-sensitive. */
function heading(name: string): string {
  return name.includes("@") ? name : name.toUpperCase();
}

/** Formats groups as a table with a bar for each count, as wide as the terminal allows. */
export function chart(answer: readonly Fields[], width = process.stdout.columns ?? Infinity): string {
  const groups = answer.map(flat);
  const columns = Object.keys(groups[0]!);
  const headings = columns.map(heading);
  const rows = groups.map((group) => columns.map((name) => show(group[name])));
  const counts = groups.map(({ count }) => Number(count));
  const plain = table(headings, rows);
  const used = plain.split("\n").reduce((most, line) => Math.max(most, line.length), 0);
  const room = Math.min(width - used - 2, BAR_CHARACTERS);
  if (!columns.includes("count") || room < LEAST_BAR_CHARACTERS) return plain;
  const most = counts.reduce((a, b) => Math.max(a, b), 1);
  return table([...headings, ""], rows.map((row, i) => [...row, bar(counts[i]! / most, room)])); // prettier-ignore
}

/** Flattens a group: one column for each key and for each column of the earlier time. */
function flat(group: Fields): Fields {
  const fields = Object.entries(group).flatMap(([name, value]): [string, unknown][] => {
    if (name === "key" && "keys" in group) return [];
    if (name === "keys") return (value as unknown[]).map((key, i) => [`key ${i + 1}`, key]);
    if (name !== "previous" || typeof value !== "object") return [[name, value]];
    return Object.entries(value ?? {}).map(([column, before]) => [`previous ${column}`, before]);
  });
  return Object.fromEntries(fields);
}

/** @param share fraction from 0 to 1 */
function bar(share: number, characters: number): string {
  const eighths = Math.round(share * characters * 8);
  return "█".repeat(eighths >> 3) + EIGHTHS[eighths & 7];
}

export function show(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(show).join(" ");
  return typeof value === "string" ? readMoment(value) : JSON.stringify(value);
}
