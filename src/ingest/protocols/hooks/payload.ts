import { LoggiaError } from "../../../errors.ts";
import { parseForm } from "../../../http/form.ts";
import { compactJson } from "../flatten.ts";
import { isObject, parseBody, parseExactly } from "../json.ts";
import type { Received } from "../protocol.ts";

export type Fields = Readonly<Record<string, unknown>>;

const FORM = /^application\/x-www-form-urlencoded\b/i;
const TEXT = /^text\/plain\b/i;

/**
 * What a request says: its JSON, that of the field `payload` of a form, the fields of any other
 * form, or plain text.
 * @throws LoggiaError `bad_body`
 */
export function payloadOf({ body, headers }: Pick<Received, "body" | "headers">): unknown {
  const type = headers["content-type"] ?? "";
  if (FORM.test(type)) return payloadOfForm(body);
  if (!TEXT.test(type)) return parseBody(body);
  const text = body.toString("utf8");
  try {
    return parseExactly(text);
  } catch {
    if (text.trim() !== "") return text;
    throw new LoggiaError("bad_body", "The body is empty");
  }
}

function payloadOfForm(body: Buffer): unknown {
  const form = parseForm(body);
  const payload = form.get("payload");
  if (payload !== null) return parseBody(Buffer.from(payload));
  const fields = new Map<string, string>();
  for (const [name, value] of form) if (name !== "apikey" && !fields.has(name)) fields.set(name, value);
  if (fields.size === 0) throw new LoggiaError("bad_body", "The form has no field payload, and no other");
  return Object.fromEntries(fields);
}

/** The same where only an object is understood. @throws LoggiaError `bad_body` */
export function objectOf(received: Pick<Received, "body" | "headers">): Fields {
  const payload = payloadOf(received);
  if (isObject(payload)) return payload;
  throw new LoggiaError("bad_body", "The body must be an object of JSON");
}

/** The value that these steps lead to, by members and items of its own alone; undefined: none. */
export function follow(value: unknown, steps: readonly string[]): unknown {
  let found = value;
  for (const step of steps) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, step)) return undefined;
    // What every list has besides its items.
    if (Array.isArray(found) && !/^\d+$/.test(step)) return undefined;
    found = (found as Record<string, unknown>)[step];
  }
  return found;
}

/** The value at a path with dots. */
export function at(value: unknown, path: string): unknown {
  return follow(value, path.split("."));
}

/** The first of these paths that leads to a text or a number, as text; "": none does. */
export function textAt(value: unknown, ...paths: readonly string[]): string {
  for (const path of paths) {
    const found = at(value, path);
    if (typeof found === "string" && found.trim() !== "") return found;
    if (typeof found === "number") return String(found);
  }
  return "";
}

/** A value as text: lists of scalars with commas, and what is deeper as compact JSON. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (typeof value !== "object") return compactJson(value);
  const isPlain = Array.isArray(value) && value.every((one) => typeof one !== "object" || one === null);
  return isPlain ? (value as unknown[]).map(textOf).join(", ") : compactJson(value);
}

export function headerOf(headers: Received["headers"], name: string): string {
  const value = headers[name];
  return typeof value === "string" ? value : "";
}
