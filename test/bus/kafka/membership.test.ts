import test from "ava";
import { EventEmitter } from "node:events";
import type { Consumer } from "kafkajs";
import { pino } from "pino";

import { KafkaMembership } from "../../../src/bus/kafka/membership.ts";

/** Creates a joined member on a broker that answers its requests to leave with these results. */
function joined(answers: (Error | null)[]) {
  const membership = new KafkaMembership("group", pino({ level: "silent" }));
  const left: string[] = [];
  const leaveGroup = ({ memberId }: { memberId: string }) => {
    left.push(memberId);
    const error = answers.shift() ?? null;
    return error === null ? Promise.resolve() : Promise.reject(error);
  };
  const cluster = { findGroupCoordinator: () => Promise.resolve({ leaveGroup }) };
  membership.assigner({ cluster } as unknown as Parameters<typeof membership.assigner>[0]);
  const events = new EventEmitter();
  membership.follow(
    Object.assign(events, { events: { GROUP_JOIN: "joined", REBALANCING: "rebalancing" } }) as unknown as Consumer,
  );
  events.emit("joined", { payload: { memberId: "m1" } });
  return { membership, left };
}

/** Errors of kafkajs state whether a retry can help. */
const refusal = (retriable: boolean) => Object.assign(new Error("refused"), { retriable });
const loading = () => refusal(true);
const { signal } = new AbortController();

test("a member leaves once the returned broker has loaded the group", async (t) => {
  const { membership, left } = joined([loading(), loading()]);
  await membership.removePrevious(60_000, signal);
  t.deepEqual(left, ["m1", "m1", "m1"]);
  await membership.removePrevious(60_000, signal);
  t.is(left.length, 3, "it has left");
});

test("leaving is retried at most for the session timeout, and only if a retry can help", async (t) => {
  const busy = joined(Array.from({ length: 100 }, loading));
  await busy.membership.removePrevious(300, signal);
  t.true(busy.left.length >= 1 && busy.left.length <= 2, String(busy.left.length));
  const unknown = joined([refusal(false)]);
  await unknown.membership.removePrevious(60_000, signal);
  t.is(unknown.left.length, 1);
  await busy.membership.removePrevious(60_000, AbortSignal.abort());
  t.true(busy.left.length <= 2, "closing");
});
