import { z } from "zod";

import { DEPENDENCIES } from "../../monitoring/dependencies.ts";
import { HOLDS } from "../../monitoring/holds.ts";
import { MomentText } from "./event-answers.ts";
import { named } from "./named.ts";

/** Schemas of operators' requests and their responses. */

export const DeadLetterQuery = z.object({
  after: z.string().describe("The `next` of the previous page."),
  limit: z.int().min(1).max(500).default(100).describe("How many dead letters a page has."),
  state: z.enum(["open", "all"]).default("open").describe("open: only letters that were not redriven."),
});

export const RedriveOrder = named(
  "RedriveOrder",
  z.object({
    all: z.literal(true).describe("All open letters. Instead, `ids` names some.").optional(),
    ids: z
      .array(z.string().max(30))
      .max(10_000)
      .describe("Ids of letters, which may have been redriven before.")
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
        "new, the default on a cluster: a new store is built beside the old one and then replaces it. " +
          "old, the default on embedded engines and the only choice there: adds what the store lacks.",
      )
      .optional(),
  }),
);

export const BackupOrder = named(
  "BackupOrder",
  z.object({ to: z.string().describe("The absolute path of a new or empty folder on the disk of the service.") }),
);

const Count = z.int().min(0);

export const DeadLetterPageRecord = named(
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
    why: z.string().describe("The finding."),
    todo: z.string().describe("What a person can do about it."),
    blocks: z
      .enum(DEPENDENCIES)
      .nullable()
      .describe("Listeners that need this are not ready during the hold; null: readiness only mentions the hold."),
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
    expired: Count.describe("Of these, how many are older than their log's retention and were not written."),
    refused: Count,
    oldest: MomentText.nullable().describe(
      "When the oldest record that was read was appended: from `from` until then the bus holds nothing.",
    ),
    rebuild: z
      .strictObject({
        stage: z.enum(["reading", "copying", "switching", "done"]),
        rebuilt: Count.describe("Events and visits written from the bus."),
        compared: Count.describe("Documents of the old store that were examined, again after each change meanwhile."),
        copied: Count.describe("Of these, how many were copied."),
        markers: Count.describe("Markers of deletions, which were copied too."),
      })
      .nullable()
      .describe("The progress of the new store; null if there is none."),
  }),
);

export const BackupRecord = named(
  "Backup",
  z.strictObject({ ...job, to: z.string(), files: z.array(z.strictObject({ name: z.string(), size_bytes: Count })) }),
);

export const LastReplay = named("LastReplay", z.strictObject({ last: ReplayRecord.nullable() }));
export const LastBackup = named("LastBackup", z.strictObject({ last: BackupRecord.nullable() }));
