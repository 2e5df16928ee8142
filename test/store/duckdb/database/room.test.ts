import test from "ava";
import { join } from "node:path";

import { LoggiaError } from "../../../../src/errors.ts";
import { noRoom } from "../../../../src/store/duckdb/database/errors.ts";
import { DiskRoom, hasRoom } from "../../../../src/store/duckdb/database/room.ts";
import { temporaryFolder } from "../../../support/temporary.ts";

const NO_SPACE = new Error("IO Error: Could not write file: No space left on device");

test("a full disk is remembered until a write succeeds, and other failures are not", async (t) => {
  const path = join(temporaryFolder(t), "events.duckdb");
  const room = new DiskRoom();
  room.failed(new Error("Constraint Error: duplicate key"));
  t.is(room.isFull, false);
  room.failed(NO_SPACE);
  room.failed(NO_SPACE);
  t.like(room, { isFull: true, timesFull: 2 });
  await t.notThrowsAsync(room.check(path), "this disk has room");
  room.succeeded();
  t.like(room, { isFull: false, timesFull: 2 });
});

test("the room of a disk is compared with what is needed, and an unknown one suffices", async (t) => {
  const path = join(temporaryFolder(t), "events.duckdb");
  t.true(await hasRoom(path, 1));
  t.false(await hasRoom(path, Number.MAX_SAFE_INTEGER));
  t.true(await hasRoom(join(path, "missing", "file"), Number.MAX_SAFE_INTEGER));
});

test("the error of a full disk says so, and when to try again", (t) => {
  const error = noRoom(NO_SPACE);
  t.true(error instanceof LoggiaError);
  t.like(error, { code: "store_unavailable", retryAfter_s: 5 });
  t.regex(error.message, /its disk is full$/);
});
