import { requireReadable } from "../catalog/permissions.ts";
import { LoggiaError } from "../errors.ts";
import type { EventRow } from "../events/event.ts";
import type { Route } from "../http/route.ts";
import type { Reader, Streamed } from "../http/streamed.ts";
import { planFilters } from "../query/filters.ts";
import { behind } from "../query/keyset.ts";
import type { ListPlan } from "../query/plan.ts";
import { personOfCaller } from "./caller.ts";
import { authenticated, logKeyOf } from "./context.ts";
import type { ApiCall, Context } from "./context.ts";
import { EXPORT_FORMATS, exportFormat } from "./export-formats.ts";
import type { ExportFormat, ExportFormatName } from "./export-formats.ts";
import { EVENT_BYTES } from "./memory.ts";

/** Events of one question to the store. */
const PAGE = 5_000;
/** Events of one piece: others have their turn in between. */
const PIECE = 250;

/** All that list parameters find, as a stream, however much it is. */
export function exportRoute(context: Context): Route {
  return authenticated(context, "GET", "/1/logs/:log/export", async (call) => {
    const { key } = requireReadable(context.catalog, call.caller, logKeyOf(call));
    const name = readFormat(call.query.get("format"));
    const trailer = readTrailer(call.query.get("trailer"), name);
    const plan = { ...planFilters(call.query, { from: { kind: "events" }, logs: [key] }), skip: 0, take: Infinity };
    await call.memory.take(PAGE * EVENT_BYTES);
    const format = exportFormat(name, plan.columns);
    const file = `attachment; filename="${key}.${name}"`;
    return {
      status: 200,
      body: streamed(context, call, { plan, format, trailer }),
      headers: { "Content-Disposition": file },
    };
  });
}

type Export = { readonly plan: ListPlan; readonly format: ExportFormat; readonly trailer: boolean };

function streamed(context: Context, call: ApiCall, { plan, format, trailer }: Export): Streamed {
  return {
    contentType: format.contentType,
    compressible: true,
    async *pieces({ signal, closing }: Reader) {
      let count = 0;
      yield format.head;
      for await (const rows of pagesOf(context, call, plan)) {
        if (signal.aborted) return;
        // Half a file is cut off rather than ended.
        if (closing()) throw new LoggiaError("overloaded", "The service is stopping; export again in a moment");
        const marks = await context.store.marks(rows.map(({ id }) => id));
        for (let from = 0; from < rows.length; from += PIECE) {
          const some = rows.slice(from, from + PIECE);
          yield some.map((row) => format.event(row, marks.get(row.id))).join("");
        }
        count += rows.length;
      }
      yield format.tail;
      if (trailer) yield `${JSON.stringify({ complete: true, count })}\n`;
    },
  };
}

/** All that a plan finds, in order. Each page is a question that counts as one of its caller's. */
async function* pagesOf(
  { store, gate, catalog }: Context,
  { caller }: ApiCall,
  plan: ListPlan,
): AsyncGenerator<readonly EventRow[]> {
  const person = personOfCaller(catalog, caller);
  let left = plan.take;
  let last: EventRow | undefined;
  while (left > 0) {
    const where =
      last === undefined ? plan.where : ({ kind: "and", conditions: [plan.where, behind(last, plan.sort)] } as const);
    const take = Math.min(PAGE, left);
    const rows = await gate.query(person, () => store.rows({ ...plan, where, skip: 0, take }));
    if (rows.length > 0) yield rows;
    if (rows.length < take) return;
    last = rows.at(-1);
    left -= rows.length;
  }
}

function readFormat(value: string | null): ExportFormatName {
  const name = value === null || value === "" ? "ndjson" : value.toLowerCase();
  const known = EXPORT_FORMATS.find((format) => format === name);
  if (known !== undefined) return known;
  throw new LoggiaError(
    "bad_parameter",
    `The parameter format is ${JSON.stringify(name.slice(0, 30))}; it must be ndjson, csv or xml`,
  );
}

function readTrailer(value: string | null, format: ExportFormatName): boolean {
  if (value === null || value === "" || value === "false") return false;
  if (value !== "true") {
    const found = JSON.stringify(value.slice(0, 30));
    throw new LoggiaError("bad_parameter", `The parameter trailer is ${found}; it must be true or false`);
  }
  if (format === "ndjson") return true;
  throw new LoggiaError("bad_parameter", `The parameter trailer is for format=ndjson; ${format} has no such line`);
}
