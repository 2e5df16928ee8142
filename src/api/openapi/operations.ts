import * as schemas from "../schemas/operations.ts";
import type { Operation } from "./operation.ts";

const base = { tag: "management", callers: "people" } as const;

/** Operations for service admins on the running service. */
export const OPERATING: Readonly<Record<string, Operation>> = {
  "GET /deadletters": {
    ...base,
    id: "listDeadLetters",
    summary: "What the pipeline could not take, and why; for service admins",
    query: schemas.LetterQuery,
    answers: { 200: { what: "The letters", schema: schemas.LetterPageRecord } },
    errors: ["bus_unavailable", "unsupported"],
  },
  "POST /deadletters/redrive": {
    ...base,
    id: "redriveDeadLetters",
    summary: "Send dead letters through the pipeline again; for service admins",
    json: schemas.RedriveOrder,
    answers: { 200: { what: "What was sent", schema: schemas.RedrivenRecord } },
    errors: ["bus_unavailable", "unsupported"],
  },
  "GET /holds": {
    ...base,
    id: "listHolds",
    summary: "What this process holds back until a person decides; for service admins",
    answers: { 200: { what: "The holds", schema: schemas.HoldList } },
    errors: ["unsupported"],
  },
  "POST /holds/:name/accept": {
    ...base,
    id: "acceptHold",
    summary: "Accept what was found, so that the service goes on; for service admins",
    answers: { 200: { what: "The hold that was accepted", schema: schemas.HoldRecord } },
    errors: ["conflict", "bus_unavailable", "unsupported"],
  },
  "GET /replay": {
    ...base,
    id: "readReplay",
    summary: "The last replay that this process was asked for; for service admins",
    answers: { 200: { what: "How it stands", schema: schemas.LastReplay } },
    errors: ["unsupported"],
  },
  "POST /replay": {
    ...base,
    id: "startReplay",
    summary: "Read the bus into the store once more; for service admins",
    json: schemas.ReplayOrder,
    answers: { 202: { what: "It has begun", schema: schemas.ReplayRecord } },
    errors: ["conflict", "unsupported"],
  },
  "GET /backup": {
    ...base,
    id: "readBackup",
    summary: "The last backup that this process was asked for; for service admins",
    answers: { 200: { what: "How it stands", schema: schemas.LastBackup } },
    errors: ["unsupported"],
  },
  "POST /backup": {
    ...base,
    id: "startBackup",
    summary: "Copy the embedded files to a folder; for service admins",
    json: schemas.BackupOrder,
    answers: { 202: { what: "It has begun", schema: schemas.BackupRecord } },
    errors: ["conflict", "unsupported"],
  },
};
