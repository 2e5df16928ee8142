import { DuckDBInstance } from "@duckdb/node-api";
import test from "ava";
import type { ExecutionContext } from "ava";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pino } from "pino";

import { killAfterUs } from "../../../infra/engines/guard.ts";
import { LoggiaError, StartError } from "../../../src/errors.ts";
import { EVERYTHING } from "../../../src/query/plan.ts";
import { openDuckdbStore } from "../../../src/store/duckdb/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { fixedZone } from "../../../src/query/zone.ts";
import {
  event,
  groupPlan,
  idAt,
  listPlan,
  MORNING,
  newLog,
  newUser,
  row,
  texts,
  write,
} from "../../contract/store-fixture.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";
import { writeAlerts, writeEvents } from "../../support/write-events.ts";
import { usualGroups, hour } from "../../support/groups.ts";

const CHILD = resolve(import.meta.dirname, "child.ts");

function open(file: string): Promise<Store> {
  return openDuckdbStore({ file, log: pino({ level: "silent" }), memoryLimit_mb: 256, threads: 2 });
}

function newFile(t: ExecutionContext): string {
  return join(temporaryFolder(t), "events.duckdb");
}

/** Another process that writes to the store until it is killed. Its lines are read one at a time. */
function startChild(
  t: ExecutionContext,
  file: string,
  log: string,
  limit_blocks?: number,
): { child: ChildProcess; lines: AsyncIterator<string> } {
  // `ulimit -f` counts blocks of 512 bytes and is how a disk gets full without one to fill.
  const limit = limit_blocks === undefined ? "" : `trap '' XFSZ; ulimit -f ${limit_blocks}; `;
  const child = spawn("sh", ["-c", `${limit}exec "$0" "$@"`, process.execPath, CHILD, file, log], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  killAfterUs(child);
  t.teardown(() => child.kill("SIGKILL"));
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = new Promise((done) => child.once("exit", done));
  child.kill("SIGKILL");
  await gone;
}

test("texts that no lower case folds are found by who asked before they came, beside them, and after a new start", async (t) => {
  const file = newFile(t);
  const log = newLog();
  const kelvin = event(log, { source: "\u212aelvin", tags: ["stra\u00dfe"] });
  const tagged = event(log, { source: "plain", tags: ["Kelvin"] });
  const where = (field: "source" | "tags") => ({ kind: "text" as const, field, op: "=" as const, value: "kelvin" });
  const found = async (store: Store, field: "source" | "tags"): Promise<readonly string[]> =>
    (await store.list(listPlan(log, { where: where(field) }))).rows.map(({ id }) => id);
  const groups = async (store: Store): Promise<readonly unknown[]> =>
    (await usualGroups(store, groupPlan(log, { by: [{ kind: "field", field: "source" }] }))).map(({ key }) => key);
  {
    await using store = await open(file);
    await write(t, store, [event(log, { source: "Lamp" }), event(log, { source: "jar" })]);
    t.deepEqual([await found(store, "source"), await groups(store)], [[], ["jar", "Lamp"]]);
    const writing = write(t, store, [kelvin]);
    for (let i = 0; i < 20; i++) {
      const { total } = await store.list(listPlan(log));
      const ids = await found(store, "source");
      if (total === 3) t.deepEqual(ids, [kelvin.id]);
    }
    await writing;
    t.deepEqual([await found(store, "source"), await found(store, "tags")], [[kelvin.id], []]);
    await write(t, store, [tagged]);
    t.deepEqual(await found(store, "tags"), [tagged.id]);
  }
  await using store = await open(file);
  t.deepEqual([await found(store, "source"), await found(store, "tags")], [[kelvin.id], [tagged.id]]);
  t.deepEqual(await groups(store), ["jar", "\u212aelvin", "Lamp", "plain"]);
});

/** What earlier versions had otherwise, made of a file of this one. */
const BACK_TO = {
  7: ["update meta set version = 7"],
  6: [
    "alter table events rename to hashless",
    `create table events as select created, id_hi, id_lo, log, text, link,
       to_base64(unhex(left(sha256(text), 32))) as hash, * exclude (created, id_hi, id_lo, log, text, link)
     from hashless`,
    "drop table hashless",
    "update meta set version = 6",
  ],
  5: ["drop table token_blocks", "update meta set version = 5"],
  4: [
    "alter table events rename to patterned",
    `create table events as select * exclude (pattern, attributes, others) replace (
       if(folded is null, null, {text: folded.text, link: folded.link, tags: folded.tags, source: folded.source,
         "user": folded."user", class: folded.class}) as folded) from patterned`,
    "drop table patterned",
    "drop table attribute_places",
    "update meta set version = 4",
  ],
  3: ["alter table events drop column log_number", "drop table logs", "update meta set version = 3"],
  2: [
    "alter table events rename to lines",
    `create table events as select * replace (
       if(tags = '', [], string_split(trim(tags, chr(10)), chr(10))) as tags,
       if(folded is null, null, {text: folded.text, link: folded.link, tags: string_split(trim(nullif(folded.tags, tags), chr(10)), chr(10)), source: folded.source,
         "user": folded."user", class: folded.class}) as folded) from lines`,
    "drop table lines",
    "update meta set version = 2",
  ],
  1: ["drop table visits", "update meta set version = 1"],
};

for (const version of [1, 2, 3, 4, 5, 6, 7] as const) {
  test(`a file of version ${version} is brought up to date and keeps what it holds`, async (t) => {
    const file = newFile(t);
    const log = newLog();
    const kept = [
      event(log, { text: "kept", tags: ["Stra\u00dfe", "B"], class: "big" }),
      event(log, { text: "too", tags: ["b"], user: "\u212aelvin" }),
      event(log, { text: 'took 12 ms for "ſo" from ſtraße' }),
      // `lower` makes an i of it, which is another letter.
      event(log, { text: "dotted", tags: ["\u0130"] }),
    ];
    const others = [newLog(), newLog()].map((other) => event(other));
    {
      await using store = await open(file);
      await write(t, store, [...others, ...kept]);
    }
    const back = ([7, 6, 5, 4, 3, 2, 1] as const).filter((each) => each >= version).flatMap((each) => BACK_TO[each]);
    for (const statement of back) await runIn(file, statement);
    for (let i = 0; i < 2; i++) {
      await using store = await open(file);
      t.deepEqual((await store.list(listPlan(log))).rows, kept.map(row));
      for (const other of others) t.deepEqual((await store.list(listPlan(other.log))).rows, [row(other)]);
      const where = { kind: "text", field: "tags", op: "=", value: "stra\u00dfe" } as const;
      t.deepEqual(await texts(store, listPlan(log, { where })), ["kept"]);
      t.deepEqual(await texts(store, listPlan(log, { where: { ...where, value: "\u0130" } })), ["dotted"]);
      const tags = await usualGroups(store, groupPlan(log, { by: [{ kind: "field", field: "tags" }] }));
      t.deepEqual(
        tags.map(({ key, count }) => [key, count]),
        [
          ["", 1],
          ["B", 1],
          ["b", 1],
          ["Stra\u00dfe", 1],
          ["\u0130", 1],
        ],
      );
      const isOfPattern = {
        kind: "text",
        field: "pattern",
        op: "=",
        value: "took <n> ms for <str> from straße",
      } as const;
      t.is((await store.list(listPlan(log, { where: isOfPattern }))).total, 1);
      await store.writeVisits([{ id: idAt(MORNING), log, created: MORNING, user: "ann", email: "", page: "" }]);
      const users = await store.users({ ...listPlan(log), kind: "users", where: EVERYTHING, sort: [], columns: null });
      t.is(users.rows[0]?.count, i + 1);
    }
  });
}

test("events of many logs are found by theirs, whichever were written, in whatever order, before a new start and after", async (t) => {
  const file = newFile(t);
  const events = Array.from({ length: 40 }, () => newLog()).flatMap((log) => [event(log), event(log)]);
  const mixed = [...events.filter((_, i) => i % 2 === 0), ...events.filter((_, i) => i % 2 === 1)];
  const unknown = newLog();
  const allAreFound = async (store: Store): Promise<void> => {
    for (const log of new Set(events.map((each) => each.log))) {
      const ids = events.filter((each) => each.log === log).map(({ id }) => id);
      t.deepEqual(
        (await store.list(listPlan(log))).rows.map(({ id }) => id),
        ids,
      );
    }
    t.is((await store.list(listPlan(unknown))).total, 0);
    const logs = [unknown, events[0]!.log, events.at(-1)!.log];
    t.is((await store.list({ ...listPlan(unknown), logs })).total, 4);
  };
  {
    await using store = await open(file);
    const [first, second, never] = [store.prepareEvents(), store.prepareEvents(), store.prepareEvents()];
    await first.add(mixed.slice(0, 30));
    await never.add([event(unknown)]);
    await second.add(mixed.slice(30));
    t.true((await store.writeEvents(second)).every(({ kind }) => kind === "done"));
    t.true((await store.writeEvents(first)).every(({ kind }) => kind === "done"));
    await allAreFound(store);
  }
  await using store = await open(file);
  await allAreFound(store);
  const late = event(unknown);
  await write(t, store, [late]);
  t.deepEqual((await store.list(listPlan(unknown))).rows, [row(late)]);
});

test("tags that are one ignoring case stay two groups, beside tags that no lower case folds", async (t) => {
  const log = newLog();
  await using store = await open(newFile(t));
  await write(t, store, [event(log, { tags: ["K", "k", "Stra\u00dfe"] }), event(log, { tags: ["\u212a"] })]);
  const groups = await usualGroups(store, groupPlan(log, { by: [{ kind: "field", field: "tags" }] }));
  t.deepEqual(
    groups.map(({ key, count }) => [key, count]),
    [
      ["K", 1],
      ["k", 1],
      ["\u212a", 1],
      ["Stra\u00dfe", 1],
    ],
  );
});

for (const field of ["text", "link", "tags", "source", "user", "class"] as const) {
  test(`one event among many whose ${field} alone is not ASCII is found ignoring case`, async (t) => {
    await using store = await open(newFile(t));
    const log = newLog();
    const odd = { [field]: field === "tags" ? ["plain", "\u00c4NN\u017f"] : "\u00c4NN\u017f" };
    const plain = { link: "x", tags: ["plain"], source: "web", user: "ann", class: "failure" };
    const events = Array.from({ length: 600 }, (_, i) =>
      event(log, { text: `number ${i}`, ...plain, ...(i === 300 && odd) }),
    );
    await write(t, store, events);
    const where = { kind: "contains", field, value: "\u00e4nns" } as const;
    t.deepEqual((await store.list(listPlan(log, { where }))).rows, [row(events[300]!)]);
  });
}

test("the log of changes is folded in once nothing is written any more, while others read", async (t) => {
  const file = newFile(t);
  const log = newLog();
  await using store = await open(file);
  const text = "x".repeat(1_000);
  await write(
    t,
    store,
    Array.from({ length: 5_000 }, (_, i) => event(log, { text: `${i} ${text}` })),
  );
  t.true(statSync(`${file}.wal`).size > 4_000_000);
  await until(
    async () => {
      t.is((await store.list(listPlan(log))).total, 5_000);
      return (statSync(`${file}.wal`, { throwIfNoEntry: false })?.size ?? 0) < 1_000;
    },
    { what: "the log of changes folded in" },
  );
});

test("days and hours before 1970 are told apart by who asked before they came, and after a new start", async (t) => {
  const file = newFile(t);
  const log = newLog();
  const early = [-3_600_000, -1, 0, 1].map((created) => ({ ...event(log), created }));
  const hours = async (store: Store): Promise<readonly unknown[]> =>
    (await usualGroups(store, groupPlan(log, { by: [hour(fixedZone(0))] }))).map(({ key, count }) => [key, count]);
  const late = Math.floor(MORNING / 3_600_000) * 3_600_000;
  const expected = [
    [-3_600_000, 2],
    [0, 2],
    [late, 1],
  ];
  {
    await using store = await open(file);
    await write(t, store, [event(log)]);
    t.deepEqual(await hours(store), [[late, 1]]);
    await write(t, store, early);
    t.deepEqual(await hours(store), expected);
  }
  await using store = await open(file);
  t.deepEqual(await hours(store), expected);
});

test("pages near either end are those of the whole list, however the events lie", async (t) => {
  const file = newFile(t);
  const [log, other] = [newLog(), newLog()];
  // Dense at first, then with ever larger gaps, some of the same moment, and among many more of another log.
  const at = Array.from({ length: 300 }, (_, i) => MORNING + (i < 200 ? i >> 1 : 200 + (i - 200) ** 3));
  const events = at.map((created) => event(log, { created, text: String(created) }));
  const others = Array.from({ length: 1_000 }, (_, i) => event(other, { created: MORNING + i }));
  await using store = await open(file);
  await write(t, store, [...events, ...others]);
  for (const direction of ["asc", "desc"] as const) {
    const sorted = direction === "asc" ? events : events.toReversed();
    for (const [skip, take] of [
      [0, 1],
      [0, 40],
      [7, 3],
      [199, 60],
      [290, 50],
      [300, 5],
    ] as const) {
      const page = await store.list(listPlan(log, { sort: [{ field: "created", direction }], skip, take }));
      t.is(page.total, 300);
      t.deepEqual(
        page.rows.map(({ id }) => id),
        sorted.slice(skip, skip + take).map(({ id }) => id),
      );
    }
  }
});

test("all that was written is there after closing and opening again", async (t) => {
  const file = newFile(t);
  const log = newLog();
  const user = newUser();
  const [kept, gone, late] = [
    event(log, { text: "kept", tags: ["A"], data: "x" }),
    event(log, { text: "gone" }),
    event(log, { text: "late" }),
  ];
  {
    await using store = await open(file);
    await writeEvents(store, [kept, gone], { topic: "events", partition: 3, offset: 9 });
    await writeAlerts(store, [
      { user, event: kept },
      { user, event: gone },
    ]);
    await store.addBookmark(user, log, kept.id);
    await store.deleteAlert(user, log, kept.id);
    await store.deleteEvent(log, gone.id);
  }
  t.false(existsSync(`${file}.wal`), "closing folds the log of changes into the file");
  await using store = await open(file);
  t.is(await store.nextOffset("events", 3), 10);
  await write(t, store, [gone, kept, late]);
  await writeAlerts(store, [
    { user, event: kept },
    { user, event: gone },
    { user, event: late },
  ]);
  t.deepEqual(await store.list(listPlan(log)), { rows: [row(kept), row(late)], total: 2 });
  t.deepEqual(await texts(store, listPlan(log, { from: { kind: "alerts", user } })), ["late"]);
  t.deepEqual(await texts(store, listPlan(log, { from: { kind: "bookmarks", user } })), ["kept"]);
  t.is(await store.data(log, kept.id), "x");
});

test("a process that is killed loses nothing that was acknowledged, and its position fits its events", async (t) => {
  const file = newFile(t);
  const log = newLog();
  for (let life = 0; life < 3; life++) {
    const { child, lines } = startChild(t, file, log);
    let acknowledged = -1;
    for (let count = 0; count < 5 + life * 7; count++) {
      const line = await lines.next();
      t.regex(String(line.value), /^\d+ done$/);
      acknowledged = parseInt(String(line.value), 10);
    }
    await kill(child);
    await using store = await open(file);
    const next = await store.nextOffset("events", 0);
    const { total, rows } = await store.list(
      listPlan(log, { sort: [{ field: "created", direction: "desc" }], take: 1 }),
    );
    t.true(next! > acknowledged);
    t.is(total % 500, 0, "batches are whole");
    const last = rows[0]!.created - MORNING;
    t.true(last >= acknowledged);
    const where = { kind: "number", field: "@batch", op: "=", value: last } as const;
    const ofLast = await store.list(listPlan(log, { where, take: 1 }));
    t.true(ofLast.total >= 500);
    const isTenth = { kind: "text", field: `@tenth${Math.floor(last / 10)}`, op: "=", value: "x" } as const;
    const ofTenth = await store.list(listPlan(log, { where: { kind: "and", conditions: [where, isTenth] }, take: 1 }));
    t.is(ofTenth.total, ofLast.total);
    if (life === 0) t.is(total, next! * 500, "events and position were committed together");
  }
});

test("when the disk is full, events are to be tried again, what was written stays, and the file opens again", async (t) => {
  const file = newFile(t);
  const log = newLog();
  const { child, lines } = startChild(t, file, log, 4000);
  let done = 0;
  let line = await lines.next();
  for (; String(line.value).endsWith(" done"); line = await lines.next()) done += 1;
  t.true(done > 0);
  t.regex(String(line.value), /^\d+ retry$/);
  t.regex(String((await lines.next()).value), /^\d+ retry$/);
  await kill(child);
  await using store = await open(file);
  t.is((await store.list(listPlan(log))).total, done * 500);
  await write(t, store, [event(log)]);
});

test("one event that cannot be stored is rejected by itself, and holds the position back", async (t) => {
  await using store = await open(newFile(t));
  const log = newLog();
  const events = Array.from({ length: 9 }, (_, i) => event(log, { text: String(i) }));
  const broken = { ...events[4]!, created: 2 ** 70 };
  const outcomes = await writeEvents(store, events.with(4, broken), { topic: "events", partition: 0, offset: 1 });
  t.deepEqual(
    outcomes.map(({ kind }) => kind),
    events.map((_, i) => (i === 4 ? "rejected" : "done")),
  );
  t.deepEqual(await texts(store, listPlan(log)), ["0", "1", "2", "3", "5", "6", "7", "8"]);
  t.is(await store.nextOffset("events", 0), null, "it moves on once the dead letter is safe");
  await write(t, store, events);
  t.is((await store.list(listPlan(log))).total, 9);
});

test("an event that cannot be stored hides none of the same id", async (t) => {
  await using store = await open(newFile(t));
  const log = newLog();
  const [one, other] = [event(log, { text: "one" }), event(log, { text: "other" })];
  const outcomes = await writeEvents(store, [other, { ...one, created: 2 ** 70 }, one]);
  t.deepEqual(
    outcomes.map(({ kind }) => kind),
    ["done", "rejected", "done"],
  );
  t.deepEqual((await texts(store, listPlan(log))).toSorted(), ["one", "other"]);
});

test("events that were written are not written again, and those of another store not at all", async (t) => {
  await using store = await open(newFile(t));
  const prepared = store.prepareEvents();
  await prepared.add([event(newLog())]);
  await store.writeEvents(prepared);
  await t.throwsAsync(store.writeEvents(prepared), { message: "these events have been written" });
  const strange = { length: 1, ids: () => [], add: async () => {}, pick: async () => strange };
  await t.throwsAsync(store.writeEvents(strange), { message: "these events were prepared by another store" });
});

test("lists are of one moment while events are written beside them", async (t) => {
  await using store = await open(newFile(t));
  const log = newLog();
  const batches = Array.from({ length: 40 }, (_, i) =>
    Array.from({ length: 50 }, (_, k) => event(log, { created: MORNING + i * 50 + k })),
  );
  const writing = Promise.all(batches.map((batch) => writeEvents(store, batch)));
  let seen = 0;
  while (seen < 2000) {
    const pages = await Promise.all(
      (["asc", "desc"] as const).map((direction) =>
        store.list(listPlan(log, { sort: [{ field: "created", direction }], take: 5000 })),
      ),
    );
    for (const { rows, total } of pages) {
      t.is(rows.length, total);
      t.is(total % 50, 0);
      t.true(total >= seen);
    }
    seen = Math.min(...pages.map(({ total }) => total));
  }
  t.true((await writing).flat().every(({ kind }) => kind === "done"));
});

test("a store that is closed says so, and closing waits for what is in flight", async (t) => {
  const store = await open(newFile(t));
  const log = newLog();
  const prepared = store.prepareEvents();
  await prepared.add([event(log)]);
  const writing = store.writeEvents(prepared);
  const reading = store.list(listPlan(log));
  await store[Symbol.asyncDispose]();
  t.deepEqual(await writing, [{ kind: "done" }]);
  t.is((await reading).rows.length, (await reading).total);
  t.is((await t.throwsAsync(store.list(listPlan(log)), { instanceOf: LoggiaError })).code, "store_unavailable");
  t.is((await t.throwsAsync(store.ping(), { instanceOf: LoggiaError })).code, "store_unavailable");
  t.is((await writeEvents(store, [event(log)]))[0]?.kind, "retry");
  await store[Symbol.asyncDispose]();
});

test("a question that takes too long is interrupted and says so; the next one is answered", async (t) => {
  const log = newLog();
  const options = { file: newFile(t), log: pino({ level: "silent" }), threads: 1, readTimeout_ms: 20 };
  await using store = await openDuckdbStore(options);
  const many = Array.from({ length: 10_000 }, (_, i) => event(log, { text: `x${"ab".repeat(200)} ${i}` }));
  await write(t, store, many);
  // A second and more, so that it is not over before this process, which may have much else to do,
  // finds that it is late.
  const slow = {
    kind: "or",
    conditions: Array.from({ length: 40 }, (_, i) => ({
      kind: "matches" as const,
      field: "text" as const,
      pattern: `(a?b?){200}(a|b)+[^a]{${50 + i}}x`,
    })),
  } as const;
  const error = await t.throwsAsync(usualGroups(store, groupPlan([log], { where: slow })), { instanceOf: LoggiaError });
  t.is(error.code, "overloaded");
  t.is(error.message, "The question took longer than 0.02 s: narrow it, by time for example");
  const find = () => store.find({ kind: "events" }, log, many[7]!.id);
  t.is((await until(find, { what: "an answer that is quick" })).text, many[7]!.text);
});

test("a store in use, by this process or another, is told by its name", async (t) => {
  const file = newFile(t);
  {
    await using store = await open(file);
    await store.ping();
    await t.throwsAsync(open(file), {
      instanceOf: StartError,
      message: `The store ${file} is already open in this process`,
    });
  }
  const { child, lines } = startChild(t, file, newLog());
  await lines.next();
  const message = `The store ${file} is in use by another process (PID ${child.pid})`;
  await t.throwsAsync(open(file), { instanceOf: StartError, message });
  await kill(child);
  await using store = await open(file);
  await store.ping();
});

test("a file that is no store, or is of another version, is told by its name and left as it was", async (t) => {
  const folder = temporaryFolder(t);
  const text = join(folder, "text.duckdb");
  writeFileSync(text, "hello ".repeat(4000));
  await t.throwsAsync(open(text), {
    instanceOf: StartError,
    message: `The file ${text} exists and is not a DuckDB database`,
  });

  const foreign = join(folder, "foreign.duckdb");
  await runIn(foreign, "create table other (a integer)");
  await t.throwsAsync(open(foreign), {
    instanceOf: StartError,
    message: `The file ${foreign} is a DuckDB database, but not one of Loggia`,
  });

  const newer = join(folder, "newer.duckdb");
  await (await open(newer))[Symbol.asyncDispose]();
  await runIn(newer, "update meta set version = 999");
  const error = await t.throwsAsync(open(newer), { instanceOf: StartError });
  t.regex(error.message, /newer\.duckdb has tables of version 999; this Loggia reads version \d+$/);
});

async function runIn(file: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

test("a place that cannot be written is told by its name; missing folders are made", async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "file"), "");
  mkdirSync(join(folder, "folder.duckdb"));
  for (const file of [join(folder, "file", "x.duckdb"), join(folder, "folder.duckdb")]) {
    const error = await t.throwsAsync(open(file), { instanceOf: StartError });
    t.true(error.message.startsWith(`The store ${file} could not be opened: `), error.message);
    t.false(error.message.includes("\n"));
  }
  const deep = join(folder, "a", "b", "x.duckdb");
  await (await open(deep))[Symbol.asyncDispose]();
  t.true(existsSync(deep));
});
