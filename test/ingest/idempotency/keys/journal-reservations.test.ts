import test, { type ExecutionContext } from "ava";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";

import type { Bus, Journal } from "../../../../src/bus/bus.ts";
import { createDeletionLog } from "../../../../src/bus/deletions.ts";
import { openKafkaBus } from "../../../../src/bus/kafka/kafka.ts";
import { openSqliteBus } from "../../../../src/bus/sqlite/sqlite.ts";
import { LateAppend, LoggiaError } from "../../../../src/errors.ts";
import { parseLogKey } from "../../../../src/events/event.ts";
import { createIdSource, type EventId } from "../../../../src/events/id.ts";
import { createIdempotency, type Posted } from "../../../../src/ingest/idempotency/idempotency.ts";
import { KEY_LIFE_MS } from "../../../../src/ingest/idempotency/idempotency-store.ts";
import { JournalReservations } from "../../../../src/ingest/idempotency/keys/journal-reservations.ts";
import { KeyLog } from "../../../../src/ingest/idempotency/keys/key-log.ts";
import { encodeKeyRecord, hashOfName, nameOfText } from "../../../../src/ingest/idempotency/key-record.ts";
import { createWriteCoalescer } from "../../../../src/ingest/append/write-coalescer.ts";
import { realEngines } from "../../../support/engine-kinds.ts";
import { kafkaBrokers } from "../../../support/engines.ts";
import { eventsOn } from "../../../support/events-on.ts";
import { MemoryJournal } from "../../../support/memory-journal.ts";
import { temporaryFolder, uniqueName } from "../../../support/temporary.ts";
import { until } from "../../../support/until.ts";
import { Scheduler } from "../../../../src/scheduling/scheduler.ts";

const log = pino({ level: "silent" });
const SHOP = parseLogKey("shop")!;
const SETTLE_MS = 35_000;

/** The store is away: nothing here may need it. */
const away = (): Promise<never> => Promise.reject(new LoggiaError("store_unavailable", "the store is away"));
const STORE = { rows: away, deletionsAmong: away };

type ProcessOptions = {
  /** How this process appends events. Default: as the bus does */
  readonly append?: (bus: Bus) => Bus["append"];
  readonly keys?: (journal: Journal) => Journal;
  readonly append_ms?: number;
};

type Process = {
  readonly post: (key: string, texts: readonly string[]) => Promise<Posted>;
  readonly keyLog: KeyLog;
};

type House = {
  readonly clock: { now_ms: number };
  readonly bus: Bus;
  readonly keys: Journal;
  /** Starts a posting process. */
  readonly start: (options?: ProcessOptions) => Promise<Process>;
};

/** What the processes of a test share: a bus, and its journals. */
type Shared = { readonly open: () => Promise<Bus> };

const KIND_OF: Record<"memory" | "Kafka", (t: ExecutionContext, now: () => number) => Promise<Shared>> = {
  async memory(t, now) {
    const clock = { now, mayRemove: () => false };
    const bus = await openSqliteBus({ file: join(temporaryFolder(t), "bus.sqlite"), log, clock });
    t.teardown(() => bus[Symbol.asyncDispose]());
    const journals = { keys: new MemoryJournal(now), "keys-index": new MemoryJournal(now) };
    const shared = new Proxy<Bus>(bus, {
      get(target, name) {
        if (name === "journal") return (of: keyof typeof journals) => journals[of];
        // It has removed nothing.
        if (name === "offsetsAt") return async () => new Map([[0, 0]]);
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    return { open: async () => shared };
  },
  async Kafka(t) {
    const namespace = uniqueName("keys");
    return {
      async open() {
        const bus = await openKafkaBus({ brokers: kafkaBrokers(), namespace, partitions: 2, log });
        t.teardown(() => bus[Symbol.asyncDispose]());
        return bus;
      },
    };
  },
};

async function house(t: ExecutionContext, kind: keyof typeof KIND_OF): Promise<House> {
  const clock = { now_ms: Date.now() };
  const now = () => clock.now_ms;
  const { open } = await KIND_OF[kind](t, now);
  const bus = await open();
  const start = async ({
    append = (of) => of.append.bind(of),
    keys = (of) => of,
    append_ms = 60_000,
  }: ProcessOptions = {}) => {
    const own = await open();
    const keyLog = new KeyLog({
      keys: keys(own.journal!("keys")),
      index: own.journal!("keys-index"),
      scheduler: new Scheduler(),
      log,
    });
    t.teardown(() => keyLog[Symbol.asyncDispose]());
    const coalescer = createWriteCoalescer({
      bus: { append: append(own) },
      ids: createIdSource({ now }),
      quotaOwnerOf: (of) => of,
      append_ms,
      deadline_ms: append_ms,
      maxQueuedEvents: 10_000,
      maxQueuedBytes: 10_000_000,
    });
    const idempotency = createIdempotency({
      reservations: new JournalReservations({
        keyLog,
        claim_ms: append_ms / 2,
        now,
      }),
      bus: own,
      store: STORE,
      deletions: createDeletionLog({ bus: own, ids: createIdSource() }),
      settle_ms: SETTLE_MS,
      now,
    });
    await keyLog.loaded;
    const post = (key: string, texts: readonly string[]): Promise<Posted> => {
      const lines = texts.map((text) => ({ fields: `"text":${JSON.stringify(text)}}`, created: null }));
      const times = { read_ms: now(), trusted_ms: now() };
      const batch = { log: SHOP, apiKey: "one", key, hash: texts.join(), count: texts.length, ...times };
      return idempotency.post(batch, (ids) => coalescer.submitLines(SHOP, lines, ids));
    };
    return { post, keyLog };
  };
  return { clock, bus, keys: bus.journal!("keys"), start };
}

async function idsOn(bus: Bus): Promise<EventId[]> {
  return (await eventsOn(bus)).map(({ id }) => id);
}

/** A process that dies before an append is stored, or after. */
const dying =
  (when: "before" | "after") =>
  (bus: Bus): Bus["append"] =>
  async (topic, records, options) => {
    if (when === "after") await bus.append(topic, records, options);
    throw new Error("this process is dead");
  };

/** A journal of a Kafka that throttles: two of three reads return nothing. */
function throttled(journal: Journal): Journal {
  let reads = 0;
  return {
    append: (values, options) => journal.append(values, options),
    bounds: () => journal.bounds(),
    offsetAt: (moment) => journal.offsetAt(moment),
    read: (options) => ((reads += 1) % 3 !== 0 ? Promise.resolve([]) : journal.read(options)),
  };
}

const firsts = (posted: readonly Posted[]): ReadonlySet<EventId> => new Set(posted.map(({ first }) => first));

for (const kind of ["memory", ...(realEngines ? (["Kafka"] as const) : [])] as const) {
  const contract = (title: string, run: (t: ExecutionContext, house: House) => Promise<void>) =>
    test(`${kind}: ${title}`, async (t) => {
      t.timeout(120_000);
      await run(t, await house(t, kind));
    });

  contract(
    "of a batch sent to two processes at the same time, one is stored, and all get its ids",
    async (t, { bus, start }) => {
      const processes = await Promise.all([start(), start()]);
      const rounds = kind === "Kafka" ? 100 : 50;
      for (let round = 0; round < rounds; round++) {
        const answers = await Promise.all(
          [...processes, ...processes].map(({ post }) => post(`k${round}`, ["a", "b"])),
        );
        t.is(firsts(answers).size, 1);
      }
      const ids = await idsOn(bus);
      t.is(ids.length, 2 * rounds);
      t.is(new Set(ids).size, 2 * rounds);
    },
  );

  contract(
    "a repeat is answered by any process, also by one that starts later; another body is refused",
    async (t, { bus, start }) => {
      const [one, two] = [await start(), await start()];
      const first = await one.post("k", ["a", "b"]);
      const late = await start();
      for (const { post } of [one, two, late]) {
        t.deepEqual(await post("k", ["a", "b"]), first);
        const error = await t.throwsAsync<LoggiaError>(post("k", ["c"]));
        t.is(error?.code, "conflict");
      }
      t.is((await idsOn(bus)).length, 2);
    },
  );

  contract(
    "a read that returns nothing does not forget a key, neither at a start nor at a repeat",
    async (t, { bus, start }) => {
      const one = await start();
      const keys = Array.from({ length: 20 }, (_, i) => `k${i}`);
      const posted = await Promise.all(keys.map((key) => one.post(key, [key])));
      const late = await start({ keys: throttled });
      for (const [i, key] of keys.entries()) {
        const repeat = await until(
          async () => {
            try {
              return await late.post(key, [key]);
            } catch (error) {
              t.is((error as LoggiaError).code, "bus_unavailable");
              return null;
            }
          },
          { what: "an answer to a repeat" },
        );
        t.deepEqual(repeat, posted[i]);
      }
      t.is((await idsOn(bus)).length, keys.length);
    },
  );

  contract(
    "a key whose batch was not handed to the bus is free at once, for every process and body",
    async (t, { bus, start }) => {
      const full = new LoggiaError("overloaded", "Too many records are waiting");
      const [one, two] = [await start({ append: () => () => Promise.reject(full) }), await start()];
      for (const key of ["k", "l"]) await t.throwsAsync(one.post(key, ["a"]), { message: full.message });
      const isFree = (key: string): boolean =>
        one.keyLog.standing(hashOfName(nameOfText(`shop\none\n${key}`))) === null;
      // A repeat waits for this too, but not for as long as a busy machine may take.
      if (kind === "Kafka") await until(() => isFree("k") && isFree("l"), { what: "both keys to be free" });
      const stored = await Promise.all([two.post("k", ["a"]), two.post("l", ["b"])]);
      t.deepEqual((await idsOn(bus)).toSorted(), [...firsts(stored)].toSorted());
    },
  );

  contract(
    "a process that died after its claim, seen or not, leaves the key to a repeat, later",
    async (t, { bus, keys, clock, start }) => {
      const [dead, two] = [await start({ append: dying("before") }), await start()];
      await t.throwsAsync(dead.post("seen", ["a"]));
      const { id: first, created } = createIdSource({ now: () => clock.now_ms })();
      const times = { created, read_ms: created, trusted_ms: created };
      const reservation = { first, count: 1, hash: "a", ...times };
      const hash = hashOfName(nameOfText("shop\none\nsent"));
      await keys.append([encodeKeyRecord({ kind: "claim", hash, replaces: null, reservation })]);
      clock.now_ms += 10_000;
      for (const key of ["seen", "sent"]) {
        const error = await t.throwsAsync<LoggiaError>(two.post(key, ["a"]));
        t.is(error?.code, "bus_unavailable");
        t.is(error?.retryAfter_s, 25, "the time after which the append can no longer arrive");
      }
      clock.now_ms += 25_001;
      const three = await start();
      for (const key of ["seen", "sent"]) {
        const answers = await Promise.all([two.post(key, ["a"]), three.post(key, ["a"])]);
        t.is(firsts(answers).size, 1);
      }
      t.is((await idsOn(bus)).length, 2);
    },
  );

  contract(
    "a batch stored by a process that died before its response is found on the bus",
    async (t, { bus, start }) => {
      const [dead, two] = [await start({ append: dying("after") }), await start()];
      await t.throwsAsync(dead.post("k", ["a", "b"]));
      const before = await idsOn(bus);
      const { first } = await two.post("k", ["a", "b"]);
      t.is(first, before[0]!);
      t.deepEqual(await idsOn(bus), before);
      // The outcome is known from then on.
      const three = await start();
      await until(() => three.keyLog.outcome(0, 0).then((outcome) => outcome === "done"), { what: "the outcome" });
    },
  );

  contract("a key is used anew after a day, by one of several processes", async (t, { bus, clock, start }) => {
    const [one, two] = [await start(), await start()];
    const { first } = await one.post("k", ["a"]);
    clock.now_ms += KEY_LIFE_MS - 1;
    t.is((await two.post("k", ["a"])).first, first);
    clock.now_ms += 2;
    const answers = await Promise.all([one.post("k", ["b"]), two.post("k", ["b"])]);
    t.is(firsts(answers).size, 1);
    t.is((await idsOn(bus)).length, 2);
    await t.throwsAsync(two.post("k", ["a"]), { message: /already used/ });
  });
}

test("a claim that arrives after its post was refused frees its key", async (t) => {
  const { bus, start } = await house(t, "memory");
  let release: () => void = () => {};
  const frozen = new Promise<void>((resolve) => (release = resolve));
  const slow = (journal: Journal): Journal =>
    Object.assign(Object.create(journal) as Journal, {
      append: async (values: readonly Buffer[]) => {
        await frozen;
        await journal.append(values);
      },
      read: journal.read.bind(journal),
      bounds: journal.bounds.bind(journal),
      offsetAt: journal.offsetAt.bind(journal),
    });
  const [one, two] = [await start({ keys: slow, append_ms: 200 }), await start()];
  await t.throwsAsync(one.post("k", ["a"]), { message: /could not be stored in time/ });
  release();
  await until(() => one.keyLog.outcome(0, 0).then((outcome) => outcome === "void"), { what: "the claim to be void" });
  const { first } = await two.post("k", ["b"]);
  t.deepEqual(await idsOn(bus), [first]);
});

test("a claim that Kafka's client appends again after its outcome does not lock the key", async (t) => {
  const { keys, start } = await house(t, "memory");
  const full = new LoggiaError("overloaded", "Too many records are waiting");
  const one = await start({ append: () => () => Promise.reject(full) });
  await t.throwsAsync(one.post("k", ["a"]), { message: full.message });
  await until(() => one.keyLog.outcome(0, 0).then((outcome) => outcome === "void"), { what: "the claim to be void" });
  const { records } = keys as MemoryJournal;
  const again = records.length;
  await keys.append([records[0]!.value]);
  await until(() => one.keyLog.outcome(again, 0).then((outcome) => outcome === "void"), {
    what: "the second claim to be void",
  });
});

test("the batch of an append that was late is known to be stored once it is", async (t) => {
  const { bus, start } = await house(t, "memory");
  const late =
    (of: Bus): Bus["append"] =>
    async (topic, records) => {
      const isStored = of.append(topic, records).then(() => true);
      throw new LateAppend("the bus did not answer in time", { isStored });
    };
  const one = await start({ append: late });
  await t.throwsAsync(one.post("k", ["a"]), { message: /did not answer in time/ });
  await until(() => one.keyLog.outcome(0, 0).then((outcome) => outcome === "done"), { what: "the outcome" });
  const [id] = await idsOn(bus);
  t.is((await (await start()).post("k", ["a"])).first, id!);
});

test("until the keys are known, posts with a key are refused and told so", async (t) => {
  const journals = { keys: new MemoryJournal(), index: new MemoryJournal() };
  journals.keys.fault = new LoggiaError("bus_unavailable", "Kafka is away");
  const keyLog = new KeyLog({ ...journals, scheduler: new Scheduler(), log });
  t.teardown(() => keyLog[Symbol.asyncDispose]());
  const hash = hashOfName(nameOfText("k"));
  t.throws(() => keyLog.standing(hash), { message: /still being read/ });
  journals.keys.fault = null;
  await journals.keys.append([Buffer.from("no record of ours")]);
  await keyLog.loaded;
  t.is(keyLog.standing(hash), null);
});

test("a process reads all keys again after its journal was cut", async (t) => {
  const { keys, start } = await house(t, "memory");
  const one = await start();
  for (const key of ["k", "l"]) await one.post(key, [key]);
  const { records } = keys as MemoryJournal;
  await until(
    () => one.keyLog.outcome(records.findLast(({ value }) => value[0] === 1)!.offset, 0).then((o) => o === "done"),
    {
      what: "the outcome",
    },
  );
  records.splice(1);
  await until(() => one.keyLog.counts().keys === 1, { what: "the keys to be read again" });
  await sleep(0);
  t.is(one.keyLog.standing(hashOfName(nameOfText("shop\none\nl"))), null);
});
