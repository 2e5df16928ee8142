import test from "ava";

import type { Requester } from "../../../src/auth/passwords/fair-queue.ts";
import { FairQueue } from "../../../src/auth/passwords/fair-queue.ts";
import { errorStatus, LoggiaError } from "../../../src/errors.ts";

const stranger = (address: string, account = `someone at ${address}`): Requester => ({
  address,
  account,
  isKnown: false,
});
/** A request for an existing account. */
const owner = (address: string, account: string, failures = 0): Requester => ({
  ...stranger(address, account),
  exists: true,
  failures,
});
const person = (account: string): Requester => ({ address: "192.0.2.1", account, isKnown: true });

/** A queue whose work ends when the test says so, and the order in which the work started. */
function queueOf({ concurrency = 2, maxQueued = 32, maxQueuedPerAccount = 8 } = {}) {
  let decoys = 0;
  const decoy = () => {
    decoys += 1;
    return new Promise<void>((resolve) => running.push(resolve));
  };
  const queue = new FairQueue({ concurrency, maxQueued, maxQueuedPerAccount, refusalDelay_ms: 5_000, decoy });
  const started: string[] = [];
  const running: (() => void)[] = [];
  const outcomes: Promise<"done" | "refused">[] = [];
  return {
    started,
    outcomes,
    decoys: () => decoys,
    ask: (name: string, requester: Requester, isRight = false) => {
      const work = () => {
        started.push(name);
        return new Promise<boolean>((resolve) => running.push(() => resolve(isRight)));
      };
      const outcome = queue
        .run(requester, work, (right) => right)
        .then(
          () => "done" as const,
          (error: unknown) => {
            if (error instanceof LoggiaError && errorStatus(error) === 503) return "refused" as const;
            throw error;
          },
        );
      outcomes.push(outcome);
      return outcome;
    },
    /** Ends running work, one by one, until this many have started. */
    runUntil: async (count: number) => {
      while (started.length < count) {
        running.shift()!();
        await new Promise(setImmediate);
      }
    },
    finish: async () => {
      while (running.length > 0) {
        running.shift()!();
        await new Promise(setImmediate);
      }
    },
  };
}

test("a single request starts next, after 130 unknown clients at one address or at many", async (t) => {
  for (const addressOf of [() => "203.0.113.1", (i: number) => `203.0.113.${i}`]) {
    const { ask, started, runUntil, finish } = queueOf();
    for (let i = 0; i < 130; i++) void ask("stranger", stranger(addressOf(i), `guessed ${i}`));
    const mine = ask("mine", stranger("192.0.2.1"));
    await runUntil(4);
    t.true(started.indexOf("mine") >= 0 && started.indexOf("mine") <= 3, started.join(" "));
    await finish();
    t.is(await mine, "done");
  }
});

test("repeated attempts of unknown clients neither displace nor delay a first attempt", async (t) => {
  const { ask, started, runUntil, finish } = queueOf();
  const again = (i: number, guesses: number) => ask("again", { ...stranger(`203.0.113.${i}`), guesses });
  for (let i = 0; i < 34; i++) void again(i, 1);
  const mine = ask("mine", stranger("192.0.2.1"));
  for (let i = 34; i < 130; i++) void again(i, 2);
  await runUntil(3);
  t.is(started[2], "mine", started.join(" "));
  await finish();
  t.is(await mine, "done");
});

test("a known client starts within two turns, however many unknown ones arrive later", async (t) => {
  const { ask, started, runUntil, finish } = queueOf();
  for (let i = 0; i < 65; i++) void ask("stranger", stranger(`203.0.113.${i}`));
  const mine = ask("ann", person("ann"));
  for (let i = 65; i < 130; i++) void ask("stranger", stranger(`203.0.113.${i}`));
  await runUntil(4);
  t.true(started.includes("ann"), started.join(" "));
  await finish();
  t.is(await mine, "done");
});

test("a client with many requests waits behind all others, and its own are refused", async (t) => {
  const { ask, started, runUntil, finish } = queueOf();
  const own = Array.from({ length: 100 }, () => ask("over and over", person("eve")));
  const others = [ask("ann", person("ann")), ask("bob", person("bob")), ask("new", stranger("192.0.2.7"))];
  await runUntil(6);
  t.deepEqual(started.filter((name) => name !== "over and over").toSorted(), ["ann", "bob", "new"], started.join(" "));
  await finish();
  t.deepEqual(await Promise.all(others), ["done", "done", "done"]);
  t.is((await Promise.all(own)).filter((outcome) => outcome === "done").length, 10, "2 ran and 8 waited");
});

test("known clients leave every other turn to unknown ones", async (t) => {
  const { ask, started, runUntil, finish } = queueOf();
  for (let i = 0; i < 20; i++) void ask("known", person(`person ${i}`));
  for (let i = 0; i < 6; i++) void ask("stranger", stranger(`203.0.113.${i}`));
  await runUntil(14);
  t.is(started.filter((name) => name === "stranger").length, 6, started.join(" "));
  await finish();
});

test("a full queue makes room at the cost of the address with most entries", async (t) => {
  const { ask, finish } = queueOf({ concurrency: 2, maxQueued: 4, maxQueuedPerAccount: 8 });
  const many = Array.from({ length: 8 }, (_, i) => ask("many", stranger("203.0.113.1", `guessed ${i}`)));
  const few = [ask("few", stranger("192.0.2.1")), ask("few", stranger("192.0.2.2"))];
  await finish();
  t.deepEqual(await Promise.all(few), ["done", "done"]);
  t.is(
    (await Promise.all(many)).filter((outcome) => outcome === "done").length,
    4,
    "2 ran; of 4 that waited 2 made room",
  );
});

test("unknown clients guessing at one account take a few places, from any number of addresses", async (t) => {
  const { ask, finish } = queueOf();
  const guesses = Array.from({ length: 30 }, (_, i) => ask("guess", stranger(`203.0.113.${i}`, "ann")));
  await finish();
  t.is((await Promise.all(guesses)).filter((outcome) => outcome === "done").length, 10, "2 ran and 8 waited");
});

test("a request whose guesses are used up when its turn comes starts no work and takes no place", async (t) => {
  const { ask, started, finish } = queueOf({ concurrency: 1, maxQueued: 8, maxQueuedPerAccount: 8 });
  void ask("first", stranger("203.0.113.1", "a"));
  const error = new Error("no more guesses");
  const recheck = () => {
    throw error;
  };
  const refused = ask("second", { ...stranger("203.0.113.1", "b"), recheck });
  const third = ask("third", stranger("203.0.113.1", "c"));
  const thrown = t.throwsAsync(refused, { is: error });
  await finish();
  await thrown;
  t.is(await third, "done");
  t.deepEqual(started, ["first", "third"]);
});

test("a right pair is answered early, however many unknown accounts are tried", async (t) => {
  const { ask, started, runUntil, finish } = queueOf();
  const flood = (from: number) => {
    for (let i = from; i < from + 65; i++) void ask("stranger", stranger(`203.0.113.${i}`));
  };
  flood(0);
  const mine = ask("mine", owner("192.0.2.1", "ann"), true);
  flood(65);
  await runUntil(4);
  t.true(started.includes("mine"), started.join(" "));
  await finish();
  t.is(await mine, "done", "though the line of strangers has no room for it");
  t.is(started.filter((name) => name === "mine").length, 1, "and is not checked again");
});

test("existing accounts with the fewest failures are tried first", async (t) => {
  const { ask, started, runUntil, finish } = queueOf();
  for (let i = 0; i < 40; i++) void ask("attacked", owner(`203.0.113.${i}`, `attacked ${i}`, 1));
  const mine = ask("mine", owner("192.0.2.1", "ann"), true);
  for (let i = 40; i < 80; i++) void ask("attacked", owner(`203.0.113.${i}`, `attacked ${i}`, 1));
  await runUntil(4);
  t.true(started.includes("mine"), started.join(" "));
  await finish();
  t.is(await mine, "done");
});

test("order and number of wrong responses do not reveal whether accounts exist", async (t) => {
  const answersOf = async (exists: boolean) => {
    const { ask, started, decoys, finish } = queueOf();
    const answers = { done: [] as string[], refused: [] as string[] };
    const outcomes = Array.from({ length: 80 }, (_, i) => {
      const requester =
        i % 4 === 0 ? { ...owner(`203.0.113.${i}`, `ann ${i % 12}`), exists } : stranger(`203.0.113.${i}`);
      const name = `attempt ${i}`;
      return ask(name, requester).then((outcome) => answers[outcome].push(name));
    });
    await finish();
    await Promise.all(outcomes);
    return { ...answers, work: started.length + decoys() };
  };
  const [real, invented] = [await answersOf(true), await answersOf(false)];
  t.deepEqual(real, invented);
  t.true(real.done.length > 0 && real.refused.length > 0);
});

test("one account has a few early attempts in progress", async (t) => {
  const { ask, started, runUntil, finish } = queueOf({ maxQueuedPerAccount: 24 });
  for (let i = 0; i < 2; i++) void ask("running", stranger(`198.51.100.${i}`));
  const guesses = Array.from({ length: 20 }, (_, i) => ask(`guess ${i}`, owner(`203.0.113.${i}`, "ann")));
  await runUntil(10);
  await finish();
  t.true((await Promise.all(guesses)).every((outcome) => outcome === "done"));
  const twice = new Set(started.filter((name, i) => started.indexOf(name) !== i));
  t.true(twice.size >= 3, "tried early, and again in turn");
  t.true(started.slice(2, 8).filter((name, i, all) => all.indexOf(name) !== i).length <= 3, started.join(" "));
});
