import test from "ava";

import { LoggiaError } from "../../../../src/errors.ts";
import type { StoredEvent } from "../../../../src/events/event.ts";
import { EVERYTHING } from "../../../../src/query/plan.ts";
import type { RebuildOptions, RebuildProgress, Store } from "../../../../src/store/store.ts";
import { deleteAlerts, event, listPlan, newLog, newUser } from "../../../contract/store-fixture.ts";
import { realEngines } from "../../../support/engine-kinds.ts";
import { until } from "../../../support/until.ts";
import { intercept } from "../rebuild-fixture.ts";
import { writeAlerts, writeEvents } from "../../../support/write-events.ts";
import { client, open, run, all, writeUntilAccepted, retryUntilAccepted } from "./store.ts";

/** One after the other, because each creates many indices. */
const serially = realEngines ? test.serial : test.skip;

const JANUARY = Date.UTC(2015, 0, 10);
const FEBRUARY = Date.UTC(2015, 1, 10);

serially("keeps months before the given moment and creates months that only the bus has", async (t) => {
  const { store, indices } = await open(t);
  const log = newLog();
  const [early, late, lost] = [
    event(log, { created: JANUARY }),
    event(log, { created: FEBRUARY }),
    event(log, { created: Date.UTC(2015, 4, 1) }),
  ];
  await writeUntilAccepted(store, [early, late]);
  const fill: RebuildOptions["fill"] = async (anew) => {
    await writeEvents(anew, [{ ...late, class: "new" }, lost]);
  };
  const revise = (event: StoredEvent): StoredEvent => ({ ...event, class: "revised" });
  const progress = await run(store, { since: Date.UTC(2015, 1, 1), fill, revise });
  t.deepEqual(progress, { stage: "done", rebuilt: 2, compared: 1, copied: 0, markers: 0 });
  t.deepEqual(await indices(), ["events-2015.01", "events.g1-2015.02", "events.g1-2015.05"]);
  t.deepEqual(
    (await all(store, log)).map(({ class: key }) => key),
    [null, "new", null],
  );
  await run(store, { revise });
  t.deepEqual(
    (await all(store, log)).map(({ class: key }) => key),
    ["revised", "revised", "revised"],
  );
  t.deepEqual(await indices(), ["events.g2-2015.01", "events.g2-2015.02", "events.g2-2015.05"]);
  const more = event(log, { created: FEBRUARY });
  await writeUntilAccepted(store, [more, late]);
  t.is((await all(store, log)).length, 4);
});

serially("keeps every change made meanwhile, at every stage and while writes are blocked", async (t) => {
  const { store, openOther } = await open(t);
  const [log, user] = [newLog(), newUser()];
  const events = Array.from({ length: 60 }, (_, i) => event(log, { text: `event ${i}` }));
  const alerts = events.map((event) => ({ user, event }));
  await writeUntilAccepted(store, events);
  await writeAlerts(store, alerts);
  for (const { id } of events.slice(40)) t.true(await store.addBookmark(user, log, id));
  const gone = { events: new Set<number>(), alerts: new Set<number>(), bookmarks: new Set<number>() };
  const seen = new Set<number>();
  let next = 0;
  const act = async (): Promise<void> => {
    const i = next++;
    await retryUntilAccepted(() => store.deleteEvent(log, events[i]!.id));
    await retryUntilAccepted(() => store.deleteAlert(user, log, events[20 + i]!.id));
    await retryUntilAccepted(() => store.deleteBookmark(user, log, events[40 + i]!.id));
    await retryUntilAccepted(() => store.addBookmark(user, log, events[20 + i]!.id));
    await retryUntilAccepted(() => store.setAlertSeen({ user, log, id: events[50 + i]!.id }, true));
    seen.add(50 + i);
    gone.events.add(i);
    gone.alerts.add(20 + i);
    gone.bookmarks.add(40 + i);
  };
  const acting: Promise<void>[] = [];
  const held = intercept(client, "indices.updateAliases", async (request) => {
    // The call is blocked now, and continues on the new indices.
    acting.push(act());
    return request();
  });
  const blocking = intercept(held, "indices.addBlock", async (request) => {
    await act();
    acting.push(act());
    const answer = await request();
    acting.push(act());
    return answer;
  });
  const other = await openOther(blocking);
  await act();
  await run(other, {
    fill: async (anew) => {
      await writeEvents(anew, events.slice(0, 30));
      await act();
    },
  });
  await Promise.all(acting);
  await act();
  await store.refresh();
  const texts = async (from: Parameters<typeof listPlan>[1]): Promise<string[]> =>
    (await store.list(listPlan(log, { take: 100, ...from }))).rows.map(({ text }) => text);
  const left = (without: Set<number>, from = 0) =>
    events.flatMap(({ text }, i) => (i < from || without.has(i) ? [] : [text]));
  t.deepEqual(await texts({}), left(gone.events));
  t.deepEqual(await texts({ from: { kind: "alerts", user } }), left(gone.events.union(gone.alerts)));
  const bookmarked = events.flatMap(({ text }, i) =>
    (i >= 40 && !gone.bookmarks.has(i)) || gone.alerts.has(i) ? [text] : [],
  );
  t.deepEqual(await texts({ from: { kind: "bookmarks", user } }), bookmarked);
  // The deleted events do not return.
  await writeEvents(store, events);
  await writeAlerts(store, alerts);
  const texted = [...seen].toSorted((a, b) => a - b).map((i) => events[i]!.text);
  t.deepEqual(await texts({ from: { kind: "alerts", user, state: "seen" } }), texted);
  t.deepEqual(await texts({}), left(gone.events));
  t.deepEqual(await texts({ from: { kind: "alerts", user } }), left(gone.events.union(gone.alerts)));
});

serially("copies shards with sequence numbers of their own, some of them empty, as one index", async (t) => {
  const { store, openOther } = await open(t, { shards: 4 });
  const log = newLog();
  const few = [event(log)];
  await writeUntilAccepted(store, few);
  const more = Array.from({ length: 9 }, () => event(log));
  const writing = intercept(client, "indices.addBlock", async (request) => {
    await writeUntilAccepted(store, more);
    return request();
  });
  await run(await openOther(writing));
  t.is((await all(store, log)).length, 10);
  t.true(await store.deleteEvent(log, more[0]!.id));
  await run(store);
  t.is((await all(store, log)).length, 9);
});

serially("a rebuild that ends before the switch changes nothing and leaves nothing behind", async (t) => {
  const { store, openOther, indices } = await open(t);
  const log = newLog();
  const events = Array.from({ length: 30 }, () => event(log));
  await writeUntilAccepted(store, events);
  const before = await indices();
  const failing = (name: string) =>
    openOther(intercept(client, name, () => Promise.reject(new Error(`no ${name} today`))));
  for (const name of ["indices.stats", "indices.addBlock", "openPointInTime"]) {
    await t.throwsAsync(run(await failing(name)), { message: new RegExp(`no ${name} today`) });
    t.deepEqual(await indices(), before, name);
    await writeUntilAccepted(store, [event(log)]);
  }
  for (const stage of ["reading", "copying", "switching"] as const) {
    const stop = new AbortController();
    const report = (progress: RebuildProgress): void => {
      if (progress.stage === stage) stop.abort(new Error(`enough of ${stage}`));
    };
    const fill: RebuildOptions["fill"] = async (anew) => {
      await writeEvents(anew, events);
      if (stage === "reading") stop.abort(new Error(`enough of ${stage}`));
    };
    await t.throwsAsync(run(store, { fill, report, signal: stop.signal }), { message: `enough of ${stage}` });
    t.deepEqual(await indices(), before, stage);
    await writeUntilAccepted(store, [event(log)]);
  }
  await t.throwsAsync(run(store, { fill: () => Promise.reject(new Error("no bus")) }), { message: /no bus/ });
  t.deepEqual(await indices(), before);
  t.is((await all(store, log)).length, 36);
  await run(store);
  t.is((await all(store, log)).length, 36);
});

serially("while writes are blocked, users are asked to retry and the pipeline retries", async (t) => {
  const { namespace, store } = await open(t);
  const [log, user] = [newLog(), newUser()];
  const events = [event(log), event(log)];
  await writeUntilAccepted(store, events);
  await writeAlerts(store, [{ user, event: events[0]! }]);
  t.true(await store.addBookmark(user, log, events[0]!.id));
  const { id } = events[0]!;
  const kinds = ["events", "alerts", "bookmarks"].map((kind) => `${namespace}-${kind}`);
  await client.indices.addBlock({ index: kinds, block: "write" });
  for (const change of [
    () => store.deleteEvent(log, id),
    () => store.deleteAlert(user, log, id),
    () => store.deleteBookmark(user, log, id),
    () => store.addBookmark(user, log, events[1]!.id),
  ]) {
    const error = await t.throwsAsync(change, { instanceOf: LoggiaError, code: "store_unavailable" });
    t.is(error?.retryAfter_s, 1);
    t.regex(error?.message ?? "", /write/);
  }
  t.deepEqual(
    (await writeEvents(store, [event(log)])).map(({ kind }) => kind),
    ["retry"],
  );
  t.is((await all(store, log)).length, 2);
  await client.indices.putSettings({ index: kinds, settings: { "index.blocks.write": null } });
  t.true(await store.deleteEvent(log, id));
});

serially("of two concurrent rebuilds one runs and the other is refused", async (t) => {
  const { store, openOther } = await open(t);
  const log = newLog();
  await writeUntilAccepted(store, [event(log)]);
  const other = await openOther(client);
  await run(store, {
    fill: async () => {
      await t.throwsAsync(run(other), { code: "conflict", message: /Another process is rebuilding/ });
    },
  });
  await run(other);
  t.is((await all(store, log)).length, 1);
});

serially("retention pauses during a rebuild and continues afterwards", async (t) => {
  const { store, indices } = await open(t);
  const log = newLog();
  await writeUntilAccepted(store, [event(log, { created: JANUARY }), event(log, { created: FEBRUARY })]);
  const expiry = { before: new Map([[log, FEBRUARY]]), markersBefore: FEBRUARY };
  await run(store, {
    fill: async () => {
      t.is(await store.deleteExpired(expiry), 0);
      t.is((await all(store, log)).length, 2);
    },
  });
  t.is(await store.deleteExpired(expiry), 1);
  t.is((await all(store, log)).length, 1);
  t.deepEqual(await indices(), ["events.g1-2015.02"]);
  const late = event(log, { created: JANUARY });
  await writeUntilAccepted(store, [late]);
  t.deepEqual(await indices(), ["events-2015.01", "events.g1-2015.02"]);
  t.is((await all(store, log)).length, 2);
});

serially("a month that is dropped and recreated by a late event meanwhile is copied in its new state", async (t) => {
  const { namespace, store, openOther } = await open(t);
  const log = newLog();
  const [old, late] = ["old", "late"].map((text) => event(log, { created: JANUARY, text }));
  await writeUntilAccepted(store, [old!]);
  // The month is dropped by hand after it was copied; the late event is its first write, as in the
  // old index.
  const dropping = intercept(client, "indices.addBlock", async (request) => {
    await client.indices.delete({ index: `${namespace}-events-2015.01` });
    await writeUntilAccepted(store, [late!]);
    return request();
  });
  await run(await openOther(dropping));
  t.true((await all(store, log)).some(({ text }) => text === "late"));
});

serially("a write block removed by another client prevents the switch", async (t) => {
  const { namespace, store, openOther, indices } = await open(t);
  const log = newLog();
  await writeUntilAccepted(store, [event(log)]);
  const before = await indices();
  const meddling = intercept(client, "indices.addBlock", async (request) => {
    const answer = await request();
    await client.indices.putSettings({
      index: `${namespace}-events`,
      settings: { "index.blocks.write": null },
    });
    await writeUntilAccepted(store, [event(log)]);
    return answer;
  });
  await t.throwsAsync(run(await openOther(meddling)), { code: "conflict" });
  t.deepEqual(await indices(), before);
  t.is((await all(store, log)).length, 2);
});

serially("a rebuild that stalls before the switch until another has cleaned up does not switch", async (t) => {
  const { store, openOther, indices } = await open(t);
  const log = newLog();
  await writeUntilAccepted(store, [event(log)]);
  const before = await indices();
  let asleep = false;
  const sleeping = intercept(client, "index", async (request, given) => {
    // Its heartbeats do not get through either.
    if (asleep && (given as { index: string }).index.endsWith("-rebuild")) throw new Error("asleep");
    return request();
  });
  const late = intercept(sleeping, "indices.updateAliases", async (request) => {
    asleep = true;
    await writeUntilAccepted(store, [event(log)]);
    return request();
  });
  await t.throwsAsync(run(await openOther(late)));
  t.is((await all(store, log)).length, 2);
  t.deepEqual(await indices(), before);
  await run(store);
  t.is((await all(store, log)).length, 2);
});

serially("a switch after another rebuild has begun to clean up changes nothing", async (t) => {
  const { store, openOther, indices } = await open(t);
  const log = newLog();
  await writeUntilAccepted(store, [event(log)]);
  const before = await indices();
  const condemned = Promise.withResolvers<void>();
  const awake = Promise.withResolvers<void>();
  let asleep = false;
  const sleeping = intercept(client, "index", async (request, given) => {
    if (asleep && (given as { index: string }).index.endsWith("-rebuild")) throw new Error("asleep");
    return request();
  });
  const late = intercept(sleeping, "indices.updateAliases", async (request) => {
    asleep = true;
    await condemned.promise;
    return request().finally(() => awake.resolve());
  });
  const ended = t.throwsAsync(run(await openOther(late)));
  await until(() => asleep, { what: "the first rebuild to pause" });
  // The clean-up is about to delete the indices that the other rebuild wants to switch to.
  const clearing = intercept(client, "indices.delete", async (request) => {
    condemned.resolve();
    await awake.promise;
    return request();
  });
  await writeUntilAccepted(await openOther(clearing), [event(log)]);
  await ended;
  t.is((await all(store, log)).length, 2);
  t.deepEqual(await indices(), before);
});

serially("requests in flight during the switch end as if nothing had been switched", async (t) => {
  const { store, openOther, indices } = await open(t);
  const [log, user] = [newLog(), newUser()];
  const events = Array.from({ length: 6 }, (_, i) => event(log, { text: `event ${i}` }));
  await writeUntilAccepted(store, events);
  await writeAlerts(
    store,
    events.map((event) => ({ user, event })),
  );
  for (const { id } of events) await store.addBookmark(user, log, id);
  t.deepEqual(
    (await store.writeVisits([{ id: event(log).id, log, created: JANUARY, user: "ann", email: "", page: "" }])).map(
      ({ kind }) => kind,
    ),
    ["done"],
  );
  await store.refresh();
  /**
   * Opens a store whose indices are all switched once, before or after its next request of a kind.
   */
  const switching = async (name: string, when: "before" | "after"): Promise<Store> => {
    let isDone = false;
    const once = async (): Promise<void> => {
      if (isDone) return;
      isDone = true;
      await run(store);
    };
    return openOther(
      intercept(client, name, async (request, given) => {
        if (JSON.stringify(given).includes("-rebuild")) return request();
        if (when === "before") await once();
        const answer = await request();
        await once();
        return answer;
      }),
    );
  };
  t.true(await (await switching("get", "after")).deleteEvent(log, events[0]!.id));
  t.true(await (await switching("get", "after")).deleteAlert(user, log, events[1]!.id));
  t.true(await (await switching("get", "after")).deleteBookmark(user, log, events[1]!.id));
  t.true(await (await switching("bulk", "before")).deleteEvent(log, events[2]!.id));
  const plan = { kind: "users" as const, logs: [log], where: EVERYTHING, sort: [], skip: 0, take: 10, columns: null };
  t.is((await (await switching("openPointInTime", "after")).users(plan)).total, 1);
  await store.refresh();
  const texts = async (from: Parameters<typeof listPlan>[1]): Promise<string[]> =>
    (await store.list(listPlan(log, from))).rows.map(({ text }) => text);
  t.deepEqual(await texts({}), ["event 1", "event 3", "event 4", "event 5"]);
  t.deepEqual(await texts({ from: { kind: "alerts", user } }), ["event 3", "event 4", "event 5"]);
  t.deepEqual(await texts({ from: { kind: "bookmarks", user } }), ["event 3", "event 4", "event 5"]);
  await deleteAlerts(await switching("bulk", "before"), user);
  t.deepEqual(await texts({ from: { kind: "alerts", user } }), []);
  t.is((await indices()).length, 4);
});
