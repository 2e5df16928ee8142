import type { ReceivingHook } from "../../src/catalog/catalog.ts";
import { parseTemplate } from "../../src/catalog/hook-template.ts";
import type { TemplateSource } from "../../src/catalog/hook-template.ts";
import { LoggiaError } from "../../src/errors.ts";
import { DEFAULT_LIMITS } from "../../src/events/limits.ts";
import { completeLine, decodeRecord, encodeRecord } from "../../src/events/record.ts";
import { firstIdAt } from "../../src/events/id.ts";
import type { LogKey } from "../../src/events/event.ts";
import { readFieldChoice } from "../../src/ingest/kit/choice.ts";
import { fittedLine } from "../../src/ingest/append/fitted-line.ts";
import { KEPT_BYTES } from "../../src/ingest/kit/long-json.ts";
import { matchProtocol } from "../../src/ingest/protocols/match.ts";
import { decompressSnappy } from "../../src/ingest/kit/snappy.ts";
import { SEEDS } from "../ingest/seeds.ts";
import { mutate } from "./random.ts";
import type { Random } from "./random.ts";
import { Fault } from "./target.ts";

const NOW_MS = 1_800_000_000_000;
const TURN = 200;

/**
 * Decodes mutated bodies of every protocol, in this process. A decoder must refuse a body with an
 * error or return events, each of which the bus carries and a pipeline reads.
 */
export async function fuzzProtocols(random: Random, deadline_ms: number): Promise<number> {
  let tries = 0;
  while (performance.now() < deadline_ms) {
    for (let i = 0; i < TURN; i++) decodeOne(random);
    tries += TURN;
    await new Promise(setImmediate);
  }
  return tries;
}

/** Returns a hook with this template, or with mutated texts if the template is still valid. */
function hookOf(random: Random, template: TemplateSource): ReceivingHook {
  const made = { name: "made", kind: "json", signature: "none", created: 0 } as const;
  const changed = Object.fromEntries(
    Object.entries(template).map(([field, text]) => [
      field,
      typeof text === "string" && random.percent(30) ? mutate(random, Buffer.from(text)).toString("utf8") : text,
    ]),
  );
  try {
    parseTemplate(changed);
  } catch (error) {
    if (error instanceof LoggiaError && error.code === "bad_parameter") return { ...made, template };
    throw new Fault(`${String((error as Error).stack)}\n  template ${JSON.stringify(changed)}`, { cause: error });
  }
  return { ...made, template: changed };
}

/** Lengthens JSON beyond the size that is parsed at once. */
function lengthened(body: Buffer): Buffer {
  const brace = body.indexOf("{");
  const pad = Buffer.from(`"pad":"${"x".repeat(KEPT_BYTES)}",`);
  return Buffer.concat([body.subarray(0, brace + 1), pad, body.subarray(brace + 1)]);
}

function decodeOne(random: Random): void {
  const seed = random.oneOf(SEEDS);
  const original = Buffer.from(seed.body);
  const changed = random.percent(5) ? random.bytes(random.below(200)) : mutate(random, original);
  const body = random.percent(2) ? lengthened(changed) : changed;
  const match = matchProtocol(seed.method ?? "POST", seed.path);
  if (match === null || match.endpoint.kind !== "post") throw new Fault(`nothing takes ${seed.path}`);
  const headers = { "content-type": seed.type, ...seed.headers };
  const hook = seed.template === undefined ? null : hookOf(random, seed.template);
  const query = new URLSearchParams(seed.path.split("?", 2)[1] ?? "");
  const began_ms = performance.now();
  try {
    const reading = match.endpoint.read({
      body,
      sent_bytes: body.length,
      headers,
      query,
      choice: readFieldChoice(query, headers),
      limits: DEFAULT_LIMITS,
      hook,
    });
    let accepted = 0;
    for (const event of reading.items) {
      if ("fault" in event) continue;
      accepted += 1;
      const { line } = fittedLine(event, { limits: DEFAULT_LIMITS, read_ms: NOW_MS, tags: [] });
      const record = encodeRecord("fuzz" as LogKey, [completeLine(firstIdAt(0), line.created ?? "0", line.fields)]);
      for (const read of decodeRecord(record)) if (read.kind !== "event") throw new Fault(`it became ${line.fields}`);
    }
    const ids = () => Array.from({ length: accepted }, () => firstIdAt(0));
    const { body: answer, type } = reading.accepted({ accepted, rejected: 0, fault: null, ids });
    const text = typeof answer === "string" || answer instanceof Uint8Array ? String(answer) : [...answer].join("");
    if (type?.includes("json") === true) JSON.parse(text);
    decompressSnappy(body);
  } catch (error) {
    if (!(error instanceof LoggiaError)) {
      const shown = `${seed.path} (${seed.type}), base64: ${body.toString("base64").slice(0, 4_000)}`;
      throw new Fault(`${String((error as Error).stack)}\n  ${shown}`, { cause: error });
    }
  }
  const took_ms = performance.now() - began_ms;
  if (took_ms > 2_000) throw new Fault(`${seed.path} took ${took_ms} ms: ${body.toString("base64").slice(0, 4_000)}`);
}
