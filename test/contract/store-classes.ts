import test from "ava";

import type { LogKey } from "../../src/events/event.ts";
import type { ClassifiedUpTo, ReclassifyPiece, Store } from "../../src/store/store.ts";
import { event, idAt, listPlan, MORNING, newLog, newUser, row, write } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";

type ClassOf = ReclassifyPiece["classOf"];

/**
 * Reclassifies a whole log, piece by piece.
 * @returns the totals over all pieces
 */
async function reclassifyAll(
  store: Store,
  log: LogKey,
  classOf: ClassOf,
  from: number | null = null,
): Promise<{ looked: number; changed: number }> {
  let looked = 0;
  let changed = 0;
  let after: ClassifiedUpTo | null = null;
  do {
    const piece = await store.reclassify({ log, from, after, classOf });
    looked += piece.examined;
    changed += piece.changed;
    after = piece.last;
  } while (after !== null);
  await store.refresh();
  return { looked, changed };
}

const byTag: ClassOf = async (events) => events.map(({ tags }) => tags[0] ?? null);

export function classesContract({ name, open }: StoreAdapter): void {
  test(`${name}: reclassification changes the class of events and nothing else`, async (t) => {
    const store = await open(t);
    const [log, other] = [newLog(), newLog()];
    const full = event(log, {
      text: "Žluťoučký kůň",
      link: "https://example.org/a?b=1",
      tags: ["Red", "blue"],
      source: "shop",
      user: "ann",
      value: 1.5,
      geo: { lat: 1, lon: 2 },
      data: '{ "kept":  "to the byte" }',
      attributes: '{"http.status":500,"odd name":["a","b"]}',
      class: "old",
    });
    const events = [
      full,
      event(log, { id: idAt(MORNING + 1), class: "old" }),
      event(log, { id: idAt(MORNING + 2), created: MORNING + 2, tags: ["red"], class: "red" }),
      event(log, { id: idAt(MORNING + 3), created: MORNING - 5000, tags: ["early"] }),
    ];
    const strange = event(other, { id: idAt(MORNING + 4), tags: ["red"] });
    await write(t, store, [...events, strange]);
    const seen: string[][] = [];
    const result = await reclassifyAll(store, log, async (some) => {
      seen.push(some.map(({ log, class: cls }) => `${log} ${cls}`));
      return some.map(({ tags }) => tags[0]?.toLowerCase() ?? null);
    });
    t.deepEqual(result, { looked: 4, changed: 3 });
    t.deepEqual(seen, [[`${log} null`, `${log} old`, `${log} old`, `${log} red`]], "by created, then by id");
    const classes = ["red", null, "red", "early"];
    const expected = events.map((each, i) => row({ ...each, class: classes[i]! }));
    const { rows } = await store.list(listPlan(log));
    t.deepEqual(
      rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      expected,
    );
    t.is(await store.data(log, full.id), full.data);
    for (const [i, { id }] of events.entries()) {
      t.deepEqual(await store.find({ kind: "events" }, log, id), expected[i]);
    }
    const where = { kind: "text", field: "class", op: "=", value: "red" } as const;
    t.is((await store.list(listPlan([log, other], { where }))).total, 2);
    t.deepEqual(await reclassifyAll(store, log, async (some) => some.map((each) => each.class)), {
      looked: 4,
      changed: 0,
    });
    t.deepEqual((await store.list(listPlan(other))).rows, [row(strange)]);
  });

  test(`${name}: reclassification in pieces handles events of one moment and earlier ones`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const early = Array.from({ length: 30 }, (_, i) => event(log, { id: idAt(MORNING + i), created: MORNING - 1 }));
    const same = Array.from({ length: 2_100 }, (_, i) => event(log, { id: idAt(MORNING + 100 + i), created: MORNING }));
    await write(t, store, [...early, ...same]);
    const give: ClassOf = async (events) => events.map(() => "new");
    t.deepEqual(await reclassifyAll(store, log, give, MORNING), { looked: 2_100, changed: 2_100 });
    const where = { kind: "text", field: "class", op: "=", value: "new" } as const;
    t.is((await store.list(listPlan(log, { where }))).total, 2_100);
    t.deepEqual(await reclassifyAll(store, log, give), { looked: 2_130, changed: 30 });
    t.deepEqual(await reclassifyAll(store, newLog(), give), { looked: 0, changed: 0 });
  });

  test(`${name}: an event deleted during reclassification stays deleted`, async (t) => {
    const store = await open(t);
    const [log, user] = [newLog(), newUser()];
    const events = Array.from({ length: 6 }, (_, i) => event(log, { id: idAt(MORNING + i), tags: ["new"] }));
    await write(t, store, events);
    const [gone, byRecord, kept] = events;
    const result = await reclassifyAll(store, log, async (some) => {
      await store.deleteEvent(log, gone!.id);
      await store.writeDeletions([{ log, event: byRecord!.id, alertOf: null }]);
      await store.addBookmark(user, log, kept!.id);
      return byTag(some);
    });
    t.deepEqual(result, { looked: 6, changed: 4 });
    await write(t, store, events);
    const { rows } = await store.list(listPlan(log));
    t.deepEqual(
      rows.map(({ id, class: cls }) => [id, cls]),
      events.slice(2).map(({ id }) => [id, "new"]),
    );
    t.is(await store.find({ kind: "events" }, log, gone!.id), null);
    t.deepEqual((await store.annotations([kept!.id])).get(kept!.id)?.bookmarks, [user]);
    t.true(await store.deleteEvent(log, kept!.id), "one whose class has changed can be deleted");
  });

  test(`${name}: bookmarks and alerts take the new class of their event and keep their owner`, async (t) => {
    const store = await open(t);
    const [log, ann, bob] = [newLog(), newUser(), newUser()];
    const events = ["a", "b", "c"].map((tag, i) => event(log, { id: idAt(MORNING + i), tags: [tag], class: "old" }));
    const [first, second, third] = events;
    await store.writeAlerts([
      { user: ann, event: first! },
      { user: bob, event: first! },
      { user: ann, event: second! },
    ]);
    await write(t, store, events);
    await store.addBookmark(bob, log, third!.id);
    await store.deleteAlert(ann, log, second!.id);
    const before = await store.annotations(events.map(({ id }) => id));
    t.deepEqual(await reclassifyAll(store, log, byTag), { looked: 3, changed: 3 });
    t.deepEqual(await store.annotations(events.map(({ id }) => id)), before);
    const classesFor = async (kind: "alerts" | "bookmarks", user: typeof ann) =>
      (await store.list(listPlan(log, { from: { kind, user } }))).rows.map((each) => each.class);
    t.deepEqual(await classesFor("alerts", ann), ["a"]);
    t.deepEqual(await classesFor("alerts", bob), ["a"]);
    t.deepEqual(await classesFor("bookmarks", bob), ["c"]);
    t.deepEqual(await classesFor("bookmarks", ann), []);
    t.deepEqual(await store.deletionsOfAlerts(bob), [{ log, event: first!.id, alertOf: bob }]);
  });
}
