import type { ExecutionContext, TestFn } from "ava";

import type {
  Body,
  DocumentCursor,
  Document,
  Documents,
  Version,
  WriteResult,
} from "../../src/catalog/documents/documents.ts";
import { MAX_ID_BYTES } from "../../src/catalog/documents/documents.ts";
import { until } from "../support/until.ts";
import type { DocumentsStorage } from "./documents-adapters.ts";

/**
 * Tests that every adapter of the document store passes. Calling `connect` twice gives two
 * processes that share it.
 */
export function documentsContract(
  test: TestFn,
  name: string,
  openStorage: (t: ExecutionContext) => Promise<DocumentsStorage>,
): void {
  const declare = (title: string, run: (t: ExecutionContext, storage: DocumentsStorage) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => run(t, await openStorage(t)));
  };
  declare("a document is created once", createdOnce);
  declare("of several processes that create one document at once, one succeeds", oneCreates);
  declare("a replacement needs the version that it is based on", replaced);
  declare("a removed document is reported as removed and can be created again", removed);
  declare("versions of a document rise as text through all changes", versionsRise);
  declare("the feed returns existing documents to a new reader and changes to the others", feed);
  declare("the feed has every change once it is acknowledged, with many concurrent writers", feedUnderLoad);
  declare("the feed reaches the end of thousands of documents", feedOfThousands);
  declare("changes before a cursor are forgotten completely, later ones are kept", forgotten);
  declare("bodies and ids are returned unchanged", roundTrip);
  declare("written documents survive closing all connections", durable);
}

async function createdOnce(t: ExecutionContext, storage: DocumentsStorage): Promise<void> {
  const documents = await storage.connect();
  const version = done(t, await documents.create("a", { n: 1 }));
  t.deepEqual(await documents.create("a", { n: 2 }), { kind: "conflict" });
  t.deepEqual(await documents.read("a"), { id: "a", version, body: { n: 1 } });
  t.is(await documents.read("b"), null);
}

async function oneCreates(t: ExecutionContext, storage: DocumentsStorage): Promise<void> {
  const processes = await Promise.all([storage.connect(), storage.connect(), storage.connect()]);
  for (let round = 0; round < 10; round++) {
    const results = await Promise.all(processes.map((documents, n) => documents.create(`r${round}`, { n })));
    const winners = results.flatMap((result, n) => (result.kind === "done" ? [n] : []));
    t.is(winners.length, 1);
    t.deepEqual((await processes[0].read(`r${round}`))?.body, { n: winners[0] });
  }
}

async function replaced(t: ExecutionContext, storage: DocumentsStorage): Promise<void> {
  const [one, two] = [await storage.connect(), await storage.connect()];
  const first = done(t, await one.create("a", { n: 1 }));
  const second = done(t, await two.replace("a", { n: 2 }, first));
  t.deepEqual(await one.replace("a", { n: 3 }, first), { kind: "conflict" });
  t.deepEqual(await one.remove("a", first), { kind: "conflict" });
  t.deepEqual(await one.read("a"), { id: "a", version: second, body: { n: 2 } });
  t.deepEqual(await one.replace("absent", { n: 1 }, second), { kind: "conflict" });
}

async function removed(t: ExecutionContext, storage: DocumentsStorage): Promise<void> {
  const documents = await storage.connect();
  const version = done(t, await documents.create("a", { n: 1 }));
  const { cursor } = await documents.changes(null);
  const gone = done(t, await documents.remove("a", version));
  t.deepEqual(await documents.read("a"), { id: "a", version: gone, body: null });
  t.deepEqual(await documents.replace("a", { n: 2 }, version), { kind: "conflict" });
  t.deepEqual(await documents.remove("a", version), { kind: "conflict" });
  t.deepEqual(newest(await documents.changes(cursor)), { a: null });
  t.deepEqual((await documents.changes(null)).documents, []);
  done(t, await documents.create("a", { n: 3 }));
  t.deepEqual(newest(await documents.changes(cursor)), { a: { n: 3 } });
  t.deepEqual(await documents.create("a", { n: 4 }), { kind: "conflict" });
}

async function versionsRise(t: ExecutionContext, storage: DocumentsStorage): Promise<void> {
  const documents = await storage.connect();
  const versions = [done(t, await documents.create("a", { n: 0 }))];
  for (let n = 1; n < 12; n++) versions.push(done(t, await documents.replace("a", { n }, versions.at(-1)!)));
  versions.push(done(t, await documents.remove("a", versions.at(-1)!)));
  versions.push(done(t, await documents.create("a", { n: 99 })));
  t.deepEqual(versions, [...versions].sort());
  t.is(new Set(versions).size, versions.length);
  t.is((await documents.read("a"))?.version, versions.at(-1));
  t.is((await documents.changes(null)).documents[0]?.version, versions.at(-1));
}

async function feed(t: ExecutionContext, storage: DocumentsStorage): Promise<void> {
  const [writer, reader] = [await storage.connect(), await storage.connect()];
  t.deepEqual((await reader.changes(null)).documents, []);
  done(t, await writer.create("a", { n: 1 }));
  const b = done(t, await writer.create("b", { n: 2 }));
  const first = await reader.changes(null);
  t.deepEqual(
    first.documents.map(({ id }) => id),
    ["a", "b"],
    "oldest first",
  );
  done(t, await writer.replace("b", { n: 3 }, b));
  done(t, await writer.create("c", { n: 4 }));
  const second = await reader.changes(first.cursor);
  t.like(newest(second), { b: { n: 3 }, c: { n: 4 } });
  t.is(new Set(second.documents.map(({ id }) => id)).size, second.documents.length, "each document once");
  t.deepEqual(newest(await writer.changes(null)), { a: { n: 1 }, b: { n: 3 }, c: { n: 4 } });
}

async function feedUnderLoad(t: ExecutionContext, storage: DocumentsStorage): Promise<void> {
  const [reader, ...writers] = await Promise.all([storage.connect(), storage.connect(), storage.connect()]);
  const seen = new Set<string>();
  let cursor: DocumentCursor | null = null;
  const read = async (): Promise<void> => {
    const answer: { documents: readonly Document[]; cursor: DocumentCursor } = await reader.changes(cursor);
    for (const { id } of answer.documents) seen.add(id);
    cursor = answer.cursor;
  };
  const writing = new AbortController();
  const reading = (async () => {
    while (!writing.signal.aborted) await read();
  })();
  const write = async (documents: Documents, lane: string): Promise<void> => {
    for (let n = 0; n < 20; n++) done(t, await documents.create(`${lane}/${n}`, { n }));
  };
  const lanes = Array.from({ length: 12 }, (_, lane) => write(writers[lane % writers.length]!, `lane-${lane}`));
  await Promise.all(lanes);
  writing.abort();
  await reading;
  await read();
  t.is(seen.size, 12 * 20);
}

async function feedOfThousands(t: ExecutionContext, storage: DocumentsStorage): Promise<void> {
  const documents = await storage.connect();
  const count = 4500;
  for (let n = 0; n < count; n += 100) {
    const some = Array.from({ length: 100 }, (_, i) => documents.create(`d${n + i}`, { n: n + i }));
    for (const result of await Promise.all(some)) t.is(result.kind, "done");
  }
  const start = await documents.changes(null);
  t.is(start.documents.length, count);
  t.is(new Set(start.documents.map(({ id }) => id)).size, count);
  done(t, await documents.replace("d7", { n: -1 }, start.documents.find(({ id }) => id === "d7")!.version));
  const next = await documents.changes(start.cursor);
  t.deepEqual(newest(next)["d7"], { n: -1 });
  t.true(next.documents.length < 1500, "a change is not answered with everything again");
}

async function forgotten(t: ExecutionContext, storage: DocumentsStorage): Promise<void> {
  const documents = await storage.connect();
  const settled = await storage.connect();
  const versions = new Map<string, Version>();
  for (const id of ["old", "anew", "gone"]) versions.set(id, done(t, await documents.create(id, { id })));
  done(t, await documents.remove("gone", versions.get("gone")!));
  // A feed may repeat its last changes; they are forgotten with a later cursor.
  for (let i = 0; i < 1_100; i += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, n) => documents.create(`filler ${i + n}`, {})));
  }
  const { cursor } = await settled.changes(null);
  done(t, await documents.replace("anew", { n: 2 }, versions.get("anew")!));
  done(t, await documents.create("young", {}));
  t.true((await documents.forget(cursor)) >= 2);
  t.is(await documents.read("old"), null);
  t.is(await documents.read("gone"), null);
  t.deepEqual((await documents.read("anew"))?.body, { n: 2 });
  t.deepEqual((await documents.read("young"))?.body, {});
  const { documents: changed } = await settled.changes(cursor);
  t.deepEqual(newestBodies(changed, ["anew", "young"]), { anew: { n: 2 }, young: {} });
  t.is((await documents.create("old", {})).kind, "done");
}

function newestBodies(documents: readonly Document[], ids: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(documents.filter(({ id }) => ids.includes(id)).map(({ id, body }) => [id, body]));
}

async function roundTrip(t: ExecutionContext, storage: DocumentsStorage): Promise<void> {
  const documents = await storage.connect();
  const body: Body = {
    text: 'ß 漢字 😀 "quotes" \\ \u0000 \u2028',
    number: -1.5,
    large: Number.MAX_SAFE_INTEGER,
    none: null,
    list: [1, "a", { deep: { deeper: [] } }],
    "a.dotted/key": true,
    empty: {},
  };
  const id = `Ann/ä@example.org/${"x".repeat(MAX_ID_BYTES)}`.slice(0, MAX_ID_BYTES - 1);
  t.is(Buffer.byteLength(id), MAX_ID_BYTES);
  const version = done(t, await documents.create(id, body));
  t.deepEqual(await documents.read(id), { id, version, body });
  t.deepEqual((await documents.changes(null)).documents, [{ id, version, body }]);
  // A field that was a number may become a text: bodies have no schema.
  done(t, await documents.create("other", { number: "text", list: { a: 1 } }));
  // A ping has a limit of its own, which a busy machine may exceed.
  t.true(await until(() => documents.ping().then(() => true), { what: "the store to answer" }));
}

async function durable(t: ExecutionContext, storage: DocumentsStorage): Promise<void> {
  {
    await using documents = await storage.connect();
    done(t, await documents.create("a", { n: 1 }));
  }
  const again = await storage.connect();
  t.deepEqual((await again.read("a"))?.body, { n: 1 });
}

/** Returns the version of a write, and fails the test if the write did not succeed. */
function done(t: ExecutionContext, result: WriteResult): Version {
  t.is(result.kind, "done");
  return (result as WriteResult & { kind: "done" }).version;
}

function newest({ documents }: { documents: readonly Document[] }): Record<string, Body | null> {
  return Object.fromEntries(documents.map(({ id, body }) => [id, body]));
}
