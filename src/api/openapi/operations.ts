import * as schemas from "../schemas/operations.ts";
import type { Operation } from "./operation.ts";

const base = { tag: "management", callers: "people" } as const;

/** Operations for service admins on the running service. */
export const OPERATING: Readonly<Record<string, Operation>> = {
  "GET /deadletters": {
    ...base,
    id: "listDeadLetters",
    summary: "List the records that the pipeline could not process, with the reasons; for service admins",
    query: schemas.DeadLetterQuery,
    answers: { 200: { what: "A page of dead letters", schema: schemas.DeadLetterPageRecord } },
    errors: ["bus_unavailable", "unsupported"],
  },
  "POST /deadletters/redrive": {
    ...base,
    id: "redriveDeadLetters",
    summary: "Send dead letters through the pipeline again; for service admins",
    json: schemas.RedriveOrder,
    answers: { 200: { what: "How many were sent, and which do not exist", schema: schemas.RedrivenRecord } },
    errors: ["bus_unavailable", "unsupported"],
  },
  "GET /holds": {
    ...base,
    id: "listHolds",
    summary: "List the holds of this process, which wait for a person's decision; for service admins",
    answers: { 200: { what: "The holds", schema: schemas.HoldList } },
    errors: ["unsupported"],
  },
  "POST /holds/:name/accept": {
    ...base,
    id: "acceptHold",
    summary: "Accept a hold, so that the service continues; for service admins",
    answers: { 200: { what: "The accepted hold", schema: schemas.HoldRecord } },
    errors: ["conflict", "bus_unavailable", "unsupported"],
  },
  "GET /replay": {
    ...base,
    id: "readReplay",
    summary: "Read the last replay ordered from this process; for service admins",
    answers: { 200: { what: "Its state and progress", schema: schemas.LastReplay } },
    errors: ["unsupported"],
  },
  "POST /replay": {
    ...base,
    id: "startReplay",
    summary: "Replay the bus into the store; for service admins",
    json: schemas.ReplayOrder,
    answers: { 202: { what: "Started", schema: schemas.ReplayRecord } },
    errors: ["conflict", "unsupported"],
  },
  "GET /backup": {
    ...base,
    id: "readBackup",
    summary: "Read the last backup ordered from this process; for service admins",
    answers: { 200: { what: "Its state and progress", schema: schemas.LastBackup } },
    errors: ["unsupported"],
  },
  "POST /backup": {
    ...base,
    id: "startBackup",
    summary: "Copy the embedded files to a folder; for service admins",
    json: schemas.BackupOrder,
    answers: { 202: { what: "Started", schema: schemas.BackupRecord } },
    errors: ["conflict", "unsupported"],
  },
};
