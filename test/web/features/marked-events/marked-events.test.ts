import test from "ava";

import { MarkedEvents } from "../../../../src/web/features/marked-events/marked-events.ts";
import type { MarkedEvent } from "../../../../src/web/features/marked-events/marked.ts";
import type { MarkedPage } from "../../../../src/web/features/marked-events/read-marked.ts";
import { rowOf } from "../../support/rows.ts";

const PAGE = 3;
const event = (number: number): MarkedEvent => ({ ...rowOf(number), log: "shop" });

/** A list of the service in pages of three, whose responses wait for the test. */
function service(numbers: readonly number[]) {
  const held: (() => void)[] = [];
  const state = { events: numbers.map(event), isHeld: false, fault: null as Error | null };
  const read = async (after: readonly MarkedEvent[]): Promise<MarkedPage> => {
    const { events, fault } = state;
    const answer = { events: [...after, ...events.slice(after.length, after.length + PAGE)], total: events.length };
    if (state.isHeld) await new Promise<void>((resolve) => held.push(resolve));
    if (fault !== null) throw fault;
    return answer;
  };
  return { state, marked: new MarkedEvents(read), letThrough: () => held.shift()?.() };
}

const textsOf = ({ events }: MarkedEvents) => events.value?.map(({ text }) => text.replace("event ", "")).join(" ");

test("a list with several loaded pages is reloaded to the same length", async (t) => {
  const { marked, state } = service([9, 8, 7, 6, 5, 4, 3]);
  await marked.read();
  t.is(textsOf(marked), "9 8 7");
  await marked.readMore();
  t.is(textsOf(marked), "9 8 7 6 5 4");
  state.events = state.events.slice(1);
  await marked.read();
  t.is(textsOf(marked), "8 7 6 5 4 3");
  t.is(marked.total.value, 6);
});

test("an event being removed stays out of lists read meanwhile", async (t) => {
  const { marked, state } = service([3, 2, 1]);
  await marked.read();
  let finish = () => {};
  const work = marked.leave([event(2).id], () => new Promise<void>((resolve) => (finish = resolve)));
  t.is(textsOf(marked), "3 1");
  t.is(marked.total.value, 2);
  await marked.read();
  t.is(textsOf(marked), "3 1");
  t.is(marked.total.value, 2);
  state.events = [event(3), event(1)];
  finish();
  await work;
  await marked.read();
  t.is(textsOf(marked), "3 1");
  t.is(marked.total.value, 2);
});

test("a response from before a removal does not restore the event", async (t) => {
  const { marked, state, letThrough } = service([3, 2, 1]);
  await marked.read();
  state.isHeld = true;
  const late = marked.read();
  await marked.leave([event(2).id], () => Promise.resolve());
  letThrough();
  await late;
  t.is(textsOf(marked), "3 1");
});

test("an event whose removal was refused is shown again", async (t) => {
  const { marked } = service([3, 2, 1]);
  await marked.read();
  await t.throwsAsync(marked.leave([event(2).id], () => Promise.reject(new Error("Busy"))));
  await marked.read();
  t.is(textsOf(marked), "3 2 1");
});

test("a failed read keeps the list and reports the error", async (t) => {
  const { marked, state } = service([1]);
  await marked.read();
  state.fault = new Error("Away");
  await marked.read();
  t.is(marked.fault.value, "Away");
  t.is(textsOf(marked), "1");
  state.fault = null;
  await marked.read();
  t.is(marked.fault.value, null);
});
