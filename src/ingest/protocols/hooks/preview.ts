import type { HookPreview, HookRequest, PreviewedEvent } from "../../../catalog/hook-preview.ts";
import { ABSENT_FIELDS } from "../../../events/absent-fields.ts";
import { LINE_FIELD_NAMES } from "../../../events/field-order.ts";
import type { FieldLimits } from "../../../events/limits.ts";
import { Yielder } from "../../../scheduling/yielding.ts";
import { readFieldChoice } from "../../kit/choice.ts";
import { fittedLine } from "../../append/fitted-line.ts";
import type { CutLine } from "../../append/fitted-line.ts";
import { PENDING } from "../../kit/steps.ts";
import { decodeHook } from "./protocol.ts";

/** Further events are not decoded. */
const MOST_EVENTS = 10;
const NO_PARAMETERS = new URLSearchParams();

/**
 * Decodes a request as the posting listener does, without storing it. Events are cut to the limits.
 * @param options.read_ms the time of the request
 * @throws LoggiaError `bad_body`
 */
export async function previewHook(
  { hook, body, headers: given }: HookRequest,
  options: { readonly limits: FieldLimits; readonly read_ms: number },
): Promise<HookPreview> {
  const headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]));
  const choice = readFieldChoice(NO_PARAMETERS, headers);
  const bytes = Buffer.from(body);
  const { limits } = options;
  const received = { body: bytes, sent_bytes: bytes.length, headers, query: NO_PARAMETERS, choice, limits };
  const events: PreviewedEvent[] = [];
  let fault: string | null = null;
  const yielder = new Yielder();
  for (const event of decodeHook(hook, received)) {
    if (yielder.isDue) await yielder.turn();
    if (event === PENDING) continue;
    if ("fault" in event) fault ??= event.fault;
    else if (events.length === MOST_EVENTS) return { events, more: true, fault };
    else events.push(eventOf(fittedLine(event, { ...options, tags: choice.tags })));
  }
  return { events, more: false, fault };
}

/** The fields that an event may lack, in the order of lines. */
const ABSENT = {
  ...(Object.fromEntries(
    LINE_FIELD_NAMES.flatMap((name) => (name === "text" ? [] : [[name, ABSENT_FIELDS[name]]])),
  ) as typeof ABSENT_FIELDS),
  attributes: {},
};

/** The event of a line for the bus, with the fields that such a line omits. */
function eventOf({ line: { fields, created } }: CutLine): PreviewedEvent {
  const present = JSON.parse(`{${fields}`) as Pick<PreviewedEvent, "text"> & Partial<PreviewedEvent>;
  return { ...ABSENT, ...present, created: created === null ? null : Number(created) };
}
