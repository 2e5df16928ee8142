import { LoggiaError } from "../../errors.ts";
import { hasBody } from "../../http/body.ts";
import { Moment } from "../../http/moment.ts";
import type { Route } from "../../http/route.ts";
import type { Reclassification, Reclassifications } from "../../operations/reclassification.ts";
import type { Context } from "../context.ts";
import { readJson } from "../input.ts";
import { ReclassifyOrder } from "../schemas/inputs.ts";
import { managed, ok } from "./json.ts";
import { requireAdministered } from "./logs.ts";
import { readMomentField } from "./moment-field.ts";

const PATH = "/logs/:log/reclassify";

/** Routes to reclassify stored events by the current filters, and to read the progress. */
export function reclassifyRoutes(context: Context): Route[] {
  return [
    managed(context, "GET", PATH, async (call) => {
      const { key } = requireAdministered(context, call);
      return ok(show(await ordersOf(context).last(key)));
    }),
    managed(context, "POST", PATH, async (call) => {
      const { key } = requireAdministered(context, call);
      const { from } = hasBody(call.request) ? await readJson(context, call, ReclassifyOrder) : {};
      const ordered = await ordersOf(context).order(key, from === undefined ? null : readMomentField("from", from));
      return { ...ok(show(ordered)), status: 202 };
    }),
  ];
}

function ordersOf({ reclassifications }: Context): Reclassifications {
  if (reclassifications !== undefined) return reclassifications;
  throw new LoggiaError("unsupported", "This process does not offer reclassification");
}

const NONE = {
  state: "none",
  from: null,
  started: null,
  finished: null,
  total: null,
  done: 0,
  changed: 0,
  reason: null,
};

function show(record: Reclassification | null) {
  if (record === null) return NONE;
  const { state, from, started, finished, total, done, changed, reason } = record;
  return {
    state,
    from: moment(from),
    started: moment(started),
    finished: moment(finished),
    // Events posted after the start are examined too.
    total: total === null ? null : Math.max(total, done),
    done,
    changed,
    reason,
  };
}

function moment(ms: number | null): Moment | null {
  return ms === null ? null : new Moment(ms);
}
