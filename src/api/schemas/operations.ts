import { z } from "zod";

import { DEPENDENCIES } from "../../monitoring/dependencies.ts";
import { HOLDS } from "../../monitoring/holds.ts";
import { MomentText } from "./answers.ts";
import { named } from "./named.ts";

/** Schemas of operators' requests and their responses. */

export const LetterQuery = z.object({
  after: z.string().describe("The `next` of the page before."),
  limit: z.int().min(1).max(500).default(100).describe("How many letters a page holds."),
  state: z.enum(["open", "all"]).default("open").describe("open: those that nobody has sent through again."),
});

export const RedriveOrder = named(
  "RedriveOrder",
  z.object({
    all: z.literal(true).describe("All letters that are open; or, instead, `ids`.").optional(),
    ids: z
      .array(z.string().max(30))
      .max(10_000)
      .describe("Letters, also those that were sent through before.")
      .optional(),
  }),
);

export const ReplayOrder = named(
  "ReplayOrder",
  z.object({
    from: z.string().describe("A date such as 2026-11-21 or 2026-11-21T08:00:00Z (UTC), or `start`."),
    into: z
      .enum(["new", "old"])
      .describe(
        "new, the standard on a cluster: the store is built anew beside the old one, which it then replaces. " +
          "old, the standard and all there is on embedded engines: what the store lacks is added.",
      )
      .optional(),
  }),
);

export const BackupOrder = named(
  "BackupOrder",
  z.object({ to: z.string().describe("The absolute path of a new or empty folder on the disk of the service.") }),
);

const Count = z.int().min(0);

export const LetterPageRecord = named(
  "DeadLetters",
  z.strictObject({
    letters: z.array(
      z.strictObject({
        id: z.string(),
        time: MomentText,
        redriven: MomentText.nullable(),
        stage: z.string(),
        reason: z.string(),
        origin: z.strictObject({ topic: z.string(), partition: Count, offset: Count, line: Count }),
        key: z.string(),
        content: z.string(),
      }),
    ),
    next: z.string().nullable(),
    open: Count,
    total: Count,
  }),
);

export const RedrivenRecord = named(
  "Redriven",
  z.strictObject({ redriven: Count, missing: z.array(z.string()).describe("Ids that no letter has.") }),
);

export const HoldRecord = named(
  "Hold",
  z.strictObject({
    name: z.enum(HOLDS),
    why: z.string().describe("What was found."),
    todo: z.string().describe("What a person can do about it."),
    blocks: z
      .enum(DEPENDENCIES)
      .nullable()
      .describe("Listeners that need this are not ready meanwhile; null: readiness only mentions the hold."),
  }),
);
export const HoldList = named("HoldList", z.array(HoldRecord));

const job = {
  state: z.enum(["running", "done", "failed"]),
  started: MomentText,
  ended: MomentText.nullable(),
  reason: z.string().nullable().describe("Why it failed."),
};

export const ReplayRecord = named(
  "Replay",
  z.strictObject({
    ...job,
    from: MomentText,
    into: z.enum(["new", "old"]),
    records: Count,
    events: Count,
    visits: Count,
    expired: Count.describe("Of these, those that are older than their logs keep them: they were not written."),
    refused: Count,
    rebuild: z
      .strictObject({
        stage: z.enum(["reading", "copying", "switching", "done"]),
        rebuilt: Count.describe("Events and visits that were written of what the bus holds."),
        compared: Count.describe("Documents of the old store that were looked at, again for each change meanwhile."),
        copied: Count.describe("Of these, those that were copied."),
        markers: Count.describe("Markers of what people deleted, which went along."),
      })
      .nullable()
      .describe("How the new store stands; null where there is none."),
  }),
);

export const BackupRecord = named(
  "Backup",
  z.strictObject({ ...job, to: z.string(), files: z.array(z.strictObject({ name: z.string(), size_bytes: Count })) }),
);

export const LastReplay = named("LastReplay", z.strictObject({ last: ReplayRecord.nullable() }));
export const LastBackup = named("LastBackup", z.strictObject({ last: BackupRecord.nullable() }));
