import assert from "node:assert/strict";
import { join } from "node:path";
import { pino } from "pino";
import type { DeadLetter } from "../../../pipelines/deadletters/codec.ts";
import type { Bus, BusRecord } from "../../../src/bus/bus.ts";
import { openSqliteBus } from "../../../src/bus/sqlite/sqlite.ts";
import { type LogKey, parseLogKey } from "../../../src/events/event.ts";
import { createIdSource } from "../../../src/events/id.ts";
import { encodeLine, encodeRecord } from "../../../src/events/record.ts";
import { until } from "../../support/until.ts";
import type { Chaos, Fault, Figures } from "../chaos.ts";
import { lettersOf, recordsOf } from "../dead-letters.ts";
import { send } from "../http.ts";
import { assertAnswers, measureRecovery_ms, keptFigures } from "../measure.ts";
import { PROBE } from "../oracle.ts";
import { openScene, type Scene } from "../scene.ts";

/**
 * A record on the topic that the service did not write, and which of its lines (0: the whole
 * record) must become dead letters.
 */
type Poison = { readonly what: string; readonly value: Buffer; readonly dead: readonly number[] };

export const poisonEmbedded = poison("embedded");
export const poisonCluster = poison("cluster");

function poison(kind: "embedded" | "cluster"): Fault {
  return {
    name: `poison-${kind}`,
    passes: `broken JSON, an unknown version, a value no mapping takes, 1 MB, on the topic itself, ${kind}: exactly those become dead letters, each with reason, topic, partition and offset; all others are stored`,
    cluster: kind === "cluster",
    run: (chaos) => feed(chaos, kind),
  };
}

async function feed(chaos: Chaos, kind: "embedded" | "cluster"): Promise<Figures> {
  const rounds = chaos.full ? 50 : 2;
  const scene = await openScene(chaos, { kind, environment: { LOGGIA_LOG_LEVEL: "fatal" } });
  const load = scene.load({ producers: 8, rate: chaos.full ? 1_000 : 300 });
  await measureRecovery_ms(load.nextAccepted(), "the start");
  const poisons: Poison[] = [];
  await onTopic(scene, kind, async (bus) => {
    for (let i = 0; i < rounds; i++) {
      const next = brew(scene, kind, i);
      poisons.push(...next);
      const key = scene.targets[i % scene.targets.length]!.log;
      for (const { value } of next) await bus.append("events", [{ key, value }]);
    }
  });
  if (chaos.full) await until(() => scene.ledger.accepted > 10_000, { what: "events among them", timeout_ms: 60_000 });
  await load.stop();
  assertAnswers(load, { unanswered: kind === "embedded" });
  const verdict = await scene.settle();
  const [letters, records] = await onTopic(scene, kind, async (bus) => [
    await lettersOf(bus),
    await recordsOf(bus, "events"),
  ]);
  assertExactly(poisons, letters, records);
  await assertReadable(scene);
  const dead = poisons.reduce((sum, { dead }) => sum + dead.length, 0);
  return { "dead letters": dead, ...keptFigures(verdict) };
}

/**
 * Accesses the topics without the service. An embedded bus has one owner, so the service is stopped
 * meanwhile.
 */
async function onTopic<T>(scene: Scene, kind: "embedded" | "cluster", work: (bus: Bus) => Promise<T>): Promise<T> {
  if (kind === "cluster") return work(await scene.bus());
  const program = scene.program("all");
  assert.equal((await program.terminate()).code, 0);
  try {
    await using bus = await openSqliteBus({ file: join(scene.data, "bus.sqlite"), log: pino({ level: "silent" }) });
    return await work(bus);
  } finally {
    await program.start();
  }
}

const nextId = createIdSource();

/** Returns a round of every kind of malformed record, with valid events in between. */
function brew(scene: Scene, kind: "embedded" | "cluster", round: number): Poison[] {
  const log = parseLogKey(scene.targets[round % scene.targets.length]!.log)!;
  const good = (): string => goodLine(scene, log, round);
  const record = (...lines: string[]): Buffer => encodeRecord(log, lines);
  const nothing = Buffer.alloc(0);
  return [
    { what: "broken JSON", value: Buffer.from(`{oops ${round}`), dead: [0] },
    { what: "an unknown version", value: Buffer.from(JSON.stringify({ v: 99, log, round })), dead: [0] },
    { what: "a head without a log", value: Buffer.from(JSON.stringify({ v: 1, round })), dead: [0] },
    { what: "a broken line between good ones", value: record(good(), `{"id": broken ${round}`, good()), dead: [2] },
    { what: "values of other types", value: record(odd({ value: "12" }), odd({ tags: "a b" }), good()), dead: [1, 2] },
    { what: "an id that is none", value: record(good(), odd({ id: "xyz" })), dead: [2] },
    // A term of an index holds 32,766 bytes; DuckDB accepts any length.
    {
      what: "a tag no mapping takes",
      value: record(odd({ tags: ["x".repeat(40_000)] }), good()),
      dead: kind === "cluster" ? [1] : [],
    },
    { what: "a moment no date takes", value: record(odd({ created: Number.MAX_SAFE_INTEGER }), good()), dead: [1] },
    { what: "1 MB that is no record", value: Buffer.alloc(1_000_000, `${round} is not JSON `), dead: [0] },
    { what: "1 MB of one good event", value: record(odd({ data: `${round}`.padEnd(900_000, "d") }), good()), dead: [] },
    { what: "bytes that are no text", value: Buffer.from([0xff, 0xfe, 0x00, round, 0x80]), dead: [0] },
    ...(round === 0 ? [{ what: "nothing", value: nothing, dead: [0] }] : []),
  ];
}

/** Returns a line with an event that the oracle ignores. */
function odd(fields: object): string {
  return JSON.stringify({ ...nextId(), text: `${PROBE}odd`, ...fields });
}

/** Returns a line with an event of the ledger, which the oracle will check. */
function goodLine({ ledger, targets }: Scene, log: LogKey, round: number): string {
  for (;;) {
    const n = ledger.issue();
    if (n % targets.length !== round % targets.length) {
      ledger.settle(n, { kind: "refused", status: 0 });
      continue;
    }
    const { id, created } = nextId();
    ledger.settle(n, { kind: "accepted", id });
    return encodeLine({ id, created, log, geo: null, attributes: null, ...ledger.contentOf(n) });
  }
}

/** Asserts that accepted events can be shown, in every format. */
async function assertReadable({ readers: [{ url, authorization }], targets }: Scene): Promise<void> {
  for (const { log } of targets) {
    for (const format of ["json", "xml", "jsonp&callback=show"]) {
      const path = `/1/logs/${log}/events?order=desc&pagesize=500&fmt=${format}`;
      const { status, text } = await send({ url: url + path, headers: { Authorization: authorization } });
      assert.equal(status, 200, `GET ${path}: ${text.slice(0, 200)}`);
    }
  }
}

/**
 * Asserts that each malformed line is a dead letter with its reason and origin, and nothing else
 * is.
 */
function assertExactly(
  poisons: readonly Poison[],
  letters: readonly DeadLetter[],
  records: readonly BusRecord[],
): void {
  const places = new Map(records.map(({ value, position }) => [value.toString("latin1"), position]));
  const expected = poisons.flatMap(({ what, value, dead }) => {
    const position = places.get(value.toString("latin1"));
    assert.ok(position, `${what} is not on the topic`);
    return dead.map((line) => `${position.topic} ${position.partition} ${position.offset} line ${line}: ${what}`);
  });
  const names = new Map(expected.map((place) => [place.slice(0, place.indexOf(":")), place]));
  const found = letters
    .filter(({ part }) => part === 1)
    .map(({ reason, origin: { topic, partition, offset, line } }) => {
      const place = `${topic} ${partition} ${offset} line ${line}`;
      assert.ok(reason.length > 0, `${place} became a dead letter without a reason`);
      return names.get(place) ?? `${place}: ${reason}`;
    });
  assert.deepEqual([...new Set(found)].toSorted(), expected.toSorted());
  // Each dead letter contains its original content.
  for (const { part, parts, content } of letters) assert.ok(part <= parts && (content.length > 0 || parts === 1));
}
