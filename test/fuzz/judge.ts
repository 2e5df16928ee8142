import { createContext, runInContext } from "node:vm";
import { parseStringPromise } from "xml2js";

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
};

/**
 * Patterns that no response may contain: locations of faults in our files or Node's, and messages
 * of databases.
 */
const LEAKS = [
  /\n\s+at .*[:(]\d+/,
  /\bat (async )?[\w.<>]+ \(/,
  /node:internal/,
  /file:\/\/\//,
  /[\w-]+\.(ts|mjs|cjs):\d+/,
  /node_modules/,
  /SQLITE_|Binder Error|Parser Error|INTERNAL Error|Catalog Error/,
  /"root_cause"|_exception"/,
];

const CODE = /"error":\{"status":(\d+),"code":"[a-z_]+","message":"/;

/** Returns what is wrong with a response, whatever the request; null if nothing is. */
export async function judge(answer: Answer): Promise<string | null> {
  const { status, headers, text } = answer;
  const type = headers.get("Content-Type") ?? "";
  if (status >= 500 && status !== 503) return `the status is ${status}`;
  if (status < 200 || (status >= 300 && status < 400)) return `the status is ${status}`;
  const isError = status >= 400 && text !== "";
  // Stored content is returned as it was stored; messages about faults are the service's own.
  const leak = isError ? LEAKS.find((pattern) => pattern.test(withoutQuotes(text))) : undefined;
  if (leak !== undefined) return `the answer shows what is inside: ${leak.source}`;
  if ((status === 503 || status === 429) && headers.get("Retry-After") === null) return `${status} without Retry-After`;
  if (isError && type.startsWith("application/json") && Number(CODE.exec(text)?.[1]) !== status)
    return `the error does not tell its status, ${status}`;
  return await judgeForm(type, text);
}

/** Removes the caller's own words, which messages quote. */
function withoutQuotes(text: string): string {
  return text.replaceAll(/\\"(?:[^"\\]|\\\\\\.|\\[^"])*\\"/g, "");
}

async function judgeForm(type: string, text: string): Promise<string | null> {
  if (text === "") return null;
  try {
    if (type.startsWith("application/json")) JSON.parse(text);
    else if (type.startsWith("text/xml")) await parseStringPromise(text);
    else if (type.startsWith("application/javascript")) runAsScript(text);
    else if (!type.startsWith("text/plain")) return `the content type is ${JSON.stringify(type)}`;
    return null;
  } catch (error) {
    return `it is no ${type}: ${(error as Error).message}`;
  }
}

/** Asserts that a script calls its callback and does nothing else. */
function runAsScript(text: string): void {
  const name = /^\/\*\*\/([^(]+)\(/.exec(text)?.[1];
  if (name === undefined) throw new Error("it calls nothing");
  const parts = name.split(".");
  // The grammar of callbacks allows `if`, after which the parentheses are not a call in JavaScript.
  if (isReserved(parts)) return;
  const seen: unknown[] = [];
  let root: unknown = (value: unknown) => seen.push(value);
  for (const part of parts.slice(1).toReversed()) root = { [part]: root };
  const context = createContext({ [parts[0]!]: root }, { codeGeneration: { strings: false, wasm: false } });
  runInContext(text, context, { timeout: 30_000 });
  if (seen.length !== 1) throw new Error(`it called its callback ${seen.length} times`);
}

function isReserved(parts: readonly string[]): boolean {
  try {
    runInContext(`var ${parts[0]!}`, createContext({}));
    return false;
  } catch {
    return true;
  }
}
