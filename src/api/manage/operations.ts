import { isAbsolute } from "node:path";

import { LoggiaError } from "../../errors.ts";
import { Moment } from "../../http/moment.ts";
import { HOLDS } from "../../monitoring/holds.ts";
import type {
  BackupProgress,
  JobRecord,
  Operations,
  ReplayOrder as Order,
  ReplayProgress,
} from "../../operations/operations.ts";
import type { Context } from "../context.ts";
import { accepted, ok } from "../replies.ts";
import {
  BackupOrder,
  BackupRecord,
  HoldList,
  HoldRecord,
  LastBackup,
  LastReplay,
  ReplayOrder,
  ReplayRecord,
} from "../schemas/operations.ts";
import { managed } from "./managed.ts";

const HOLD_ROUTES = [
  managed({
    method: "GET",
    path: "/manage/1/holds",
    who: "service admin",
    id: "listHolds",
    summary: "List the holds of this process, which wait for a person's decision; for service admins",
    answers: { 200: { what: "The holds", schema: HoldList } },
    errors: ["unsupported"],
    handle: (context) => ok(requireOperations(context).holds.list()),
  }),
  managed({
    method: "POST",
    path: "/manage/1/holds/:name/accept",
    who: "service admin",
    id: "acceptHold",
    summary: "Accept a hold, so that the service continues; for service admins",
    answers: { 200: { what: "The accepted hold", schema: HoldRecord } },
    errors: ["conflict", "bus_unavailable", "unsupported"],
    async handle(context, { params }) {
      const { holds } = requireOperations(context);
      const name = HOLDS.find((known) => known === params["name"]);
      if (name === undefined) throw new LoggiaError("bad_parameter", `The hold must be one of ${HOLDS.join(", ")}`);
      return ok(await holds.accept(name));
    },
  }),
];

const REPLAY_ROUTES = [
  managed({
    method: "GET",
    path: "/manage/1/replay",
    who: "service admin",
    id: "readReplay",
    summary: "Read the last replay ordered from this process; for service admins",
    answers: { 200: { what: "Its state and progress", schema: LastReplay } },
    errors: ["unsupported"],
    handle: (context) => ok({ last: showLast(requireOperations(context).replay.last(), showReplay) }),
  }),
  managed({
    method: "POST",
    path: "/manage/1/replay",
    who: "service admin",
    id: "startReplay",
    summary: "Replay the bus into the store; for service admins",
    json: ReplayOrder,
    answers: { 202: { what: "Started", schema: ReplayRecord } },
    errors: ["conflict", "unsupported"],
    async handle(context, { input }) {
      const { replay, rebuilds } = requireOperations(context);
      const { from, into = rebuilds ? "new" : "old" } = await input();
      if (into === "new" && !rebuilds) {
        throw new LoggiaError(
          "unsupported",
          "The embedded store cannot be rebuilt: leave the field into out, or set it to old to add what is missing",
        );
      }
      return accepted(showReplay(replay.start({ since: parseFrom(from), into })));
    },
  }),
];

const BACKUP_ROUTES = [
  managed({
    method: "GET",
    path: "/manage/1/backup",
    who: "service admin",
    id: "readBackup",
    summary: "Read the last backup ordered from this process; for service admins",
    answers: { 200: { what: "Its state and progress", schema: LastBackup } },
    errors: ["unsupported"],
    handle: (context) => ok({ last: showLast(requireOperations(context).backup?.last() ?? null, showBackup) }),
  }),
  managed({
    method: "POST",
    path: "/manage/1/backup",
    who: "service admin",
    id: "startBackup",
    summary: "Copy the embedded files to a folder; for service admins",
    json: BackupOrder,
    answers: { 202: { what: "Started", schema: BackupRecord } },
    errors: ["conflict", "unsupported"],
    async handle(context, { input }) {
      const { backup } = requireOperations(context);
      const { to } = await input();
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
    },
  }),
];

/** Routes of operations for service admins: holds, replays and backups. */
export const OPERATION_ROUTES = [...HOLD_ROUTES, ...REPLAY_ROUTES, ...BACKUP_ROUTES];

/** Returns the operations of this process. @throws LoggiaError `unsupported` */
export function requireOperations({ operations }: Context): Operations {
  if (operations) return operations;
  throw new LoggiaError("unsupported", "This process does not offer operations");
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
