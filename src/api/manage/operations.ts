import { isAbsolute } from "node:path";

import { requireServiceAdmin } from "../../catalog/permissions.ts";
import { LoggiaError } from "../../errors.ts";
import { Moment } from "../../http/moment.ts";
import type { Route } from "../../http/route.ts";
import { HOLDS } from "../../monitoring/holds.ts";
import type { BackupProgress, JobRecord, ReplayOrder as Order, ReplayProgress } from "../../operations/operations.ts";
import type { Context } from "../context.ts";
import { readJson } from "../input.ts";
import { BackupOrder, ReplayOrder } from "../schemas/operations.ts";
import { deadLetterRoutes } from "./dead-letters.ts";
import type { OperationRoute } from "./dead-letters.ts";
import { managed, ok } from "./json.ts";

/** Routes of operations for service admins: dead letters, holds, replays and backups. */
export function operationRoutes(context: Context): Route[] {
  const route: OperationRoute = (method, path, handle) =>
    managed(context, method, path, (call) => {
      requireServiceAdmin(call.caller);
      if (!context.operations) throw new LoggiaError("unsupported", "This process does not offer operations");
      return handle(call, context.operations);
    });
  return [
    ...deadLetterRoutes(context, route),
    route("GET", "/holds", (_, { holds }) => ok(holds.list())),
    route("POST", "/holds/:name/accept", async ({ params }, { holds }) => {
      const name = HOLDS.find((known) => known === params["name"]);
      if (name === undefined) throw new LoggiaError("bad_parameter", `The hold must be one of ${HOLDS.join(", ")}`);
      return ok(await holds.accept(name));
    }),
    route("GET", "/replay", (_, { replay }) => ok({ last: showLast(replay.last(), showReplay) })),
    route("POST", "/replay", async (call, { replay, rebuilds }) => {
      const { from, into = rebuilds ? "new" : "old" } = await readJson(context, call, ReplayOrder);
      if (into === "new" && !rebuilds) {
        throw new LoggiaError(
          "unsupported",
          "The embedded store cannot be rebuilt: leave the field into out, or set it to old to add what is missing",
        );
      }
      return accepted(showReplay(replay.start({ since: parseFrom(from), into })));
    }),
    route("GET", "/backup", (_, { backup }) => ok({ last: showLast(backup?.last() ?? null, showBackup) })),
    route("POST", "/backup", async (call, { backup }) => {
      const { to } = await readJson(context, call, BackupOrder);
      if (!isAbsolute(to)) {
        throw new LoggiaError("bad_parameter", "The field to must be an absolute path on the disk of the service");
      }
      if (backup === null) {
        throw new LoggiaError(
          "unsupported",
          "A cluster is backed up with the tools of its engines: snapshots of Elasticsearch, copies of topics",
        );
      }
      return accepted(showBackup(backup.start({ to })));
    }),
  ];
}

function accepted(record: unknown): ReturnType<typeof ok> {
  return { ...ok(record), status: 202 };
}

const FROM = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?Z?)?$/;

/** Parses a replay's start, in ms since the Unix epoch. @throws LoggiaError `bad_parameter` */
function parseFrom(text: string): number {
  if (text.toLowerCase() === "start") return 0;
  const utc = text.includes("T") && !text.endsWith("Z") ? `${text}Z` : text;
  const moment = FROM.test(text) ? Date.parse(utc) : Number.NaN;
  if (Number.isFinite(moment) && moment >= 0) return moment;
  throw new LoggiaError(
    "bad_parameter",
    "The field from must be start, or a date such as 2026-11-21 or 2026-11-21T08:00:00Z",
  );
}

function showLast<Order, Progress, Shown>(
  record: JobRecord<Order, Progress> | null,
  show: (record: JobRecord<Order, Progress>) => Shown,
): Shown | null {
  return record === null ? null : show(record);
}

function showReplay(record: JobRecord<Order, ReplayProgress>) {
  const { since, into } = record.order;
  const { oldest } = record.progress;
  const read = { ...record.progress, oldest: oldest === null ? null : new Moment(oldest) };
  return { ...showJob(record), from: new Moment(since), into, ...read };
}

function showBackup(record: JobRecord<{ to: string }, BackupProgress>) {
  return { ...showJob(record), to: record.order.to, files: record.progress.files };
}

function showJob({ state, started, ended, reason }: JobRecord<unknown, unknown>) {
  return { state, started: new Moment(started), ended: ended === null ? null : new Moment(ended), reason };
}
