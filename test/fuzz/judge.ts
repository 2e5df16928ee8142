import { createContext, runInContext } from "node:vm";
import { parseStringPromise } from "xml2js";

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
};

/** What must be in no answer: where a fault stands in our files or Node's, and how a database words it. */
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

/** What is wrong with an answer, whatever was asked; null where nothing is. */
export async function judge(answer: Answer): Promise<string | null> {
  const { status, headers, text } = answer;
  const type = headers.get("Content-Type") ?? "";
  if (status >= 500 && status !== 503) return `the status is ${status}`;
  if (status < 200 || (status >= 300 && status < 400)) return `the status is ${status}`;
  const isError = status >= 400 && text !== "";
  // What people stored comes back as they stored it; what the service says of a fault is its own.
  const leak = isError ? LEAKS.find((pattern) => pattern.test(withoutQuotes(text))) : undefined;
  if (leak !== undefined) return `the answer shows what is inside: ${leak.source}`;
  if ((status === 503 || status === 429) && headers.get("Retry-After") === null) return `${status} without Retry-After`;
  if (isError && type.startsWith("application/json") && Number(CODE.exec(text)?.[1]) !== status)
    return `the error does not tell its status, ${status}`;
  return await judgeForm(type, text);
}

/** The caller's own words, which messages quote. */
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

/** A script may call its callback and do nothing else. */
function runAsScript(text: string): void {
  const name = /^\/\*\*\/([^(]+)\(/.exec(text)?.[1];
  if (name === undefined) throw new Error("it calls nothing");
  const parts = name.split(".");
  // To the grammar of callbacks `if` is an identifier as well; to JavaScript what follows is no call, and does nothing.
  if (isReserved(parts)) return;
  const seen: unknown[] = [];
  let root: unknown = (value: unknown) => seen.push(value);
  for (const part of parts.slice(1).toReversed()) root = { [part]: root };
  const context = createContext({ [parts[0]!]: root }, { codeGeneration: { strings: false, wasm: false } });
  runInContext(text, context, { timeout: 1_000 });
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
