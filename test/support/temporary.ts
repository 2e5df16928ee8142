import type { ExecutionContext } from "ava";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** An empty folder of this test's own, removed when the test is over. */
export function temporaryFolder(t: Pick<ExecutionContext, "teardown">): string {
  const folder = mkdtempSync(join(tmpdir(), "loggia-test-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

/** `prefix` with a random ending of lower-case letters and digits: fit for log keys, topics, groups and indices. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomBytes(5).toString("hex")}`;
}
