import type { ExecutionContext } from "ava";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Creates an empty folder that is removed after the test. */
export function temporaryFolder(t: Pick<ExecutionContext, "teardown">): string {
  const folder = mkdtempSync(join(tmpdir(), "loggia-test-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

/**
 * Returns `prefix` with a random suffix of lower-case letters and digits, valid for log keys,
 * topics, groups and indices.
 */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomBytes(5).toString("hex")}`;
}
