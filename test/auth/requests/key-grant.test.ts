import test from "ava";

import type { KeyGrant } from "../../../src/auth/principals.ts";
import { generateApiKey } from "../../../src/auth/secrets.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import { GuessLimiter } from "../../../src/auth/requests/guess-limiter.ts";
import { findGrant } from "../../../src/auth/requests/key-grant.ts";
import type { Peer } from "../../../src/auth/requests/guesses.ts";

const GRANT: KeyGrant = { log: parseLogKey("shop")!, id: "0123456789abcdef", scope: "read-write", disabled: false };

/** A connection of its own. */
const peer = (): Peer => ({ address: "192.0.2.1", connection: {} });

/**
 * A catalog that finds a key in memory or among the changes of other processes, and counts the
 * lookups.
 */
function catalogWith(found: { readonly known?: KeyGrant; readonly looked?: KeyGrant }, right = "right") {
  let asked = 0;
  return {
    asked: () => asked,
    cachedApiKey: (secret: string) => {
      asked += 1;
      return secret === right ? (found.known ?? null) : null;
    },
    apiKey: async (secret: string) => {
      asked += 1;
      return secret === right ? (found.looked ?? found.known ?? null) : null;
    },
  };
}

test("a key is found in memory, or among recent changes of other processes, also if disabled", async (t) => {
  const guesses = new GuessLimiter();
  t.deepEqual(await findGrant("right", peer(), { guesses, catalog: catalogWith({ known: GRANT }) }), GRANT);
  t.deepEqual(await findGrant("right", peer(), { guesses, catalog: catalogWith({ looked: GRANT }) }), GRANT);
  const disabled = { ...GRANT, disabled: true };
  t.deepEqual(await findGrant("right", peer(), { guesses, catalog: catalogWith({ known: disabled }) }), disabled);
});

test("wrong keys count as guesses; above the limit the right one is refused alike, without a lookup", async (t) => {
  const guesses = new GuessLimiter({ failures: 5, now: () => 0 });
  const catalog = catalogWith({ known: GRANT });
  const known = { guesses, catalog };
  const mine = peer();
  guesses.rightKey(mine, "right", GRANT.id);
  for (let i = 0; i < 5; i++) t.is(await findGrant(`wrong ${i}`, peer(), known), null);
  const asked = catalog.asked();
  const wrong = await t.throwsAsync(findGrant("wrong", peer(), known), { code: "too_many_requests" });
  const right = await t.throwsAsync(findGrant("right", peer(), known), { code: "too_many_requests" });
  t.is(right.message, wrong.message);
  t.is(catalog.asked(), asked);
  t.deepEqual(await findGrant("right", mine, known), GRANT, "on the connection where it was right before");
  await t.throwsAsync(findGrant("wrong", mine, known), { code: "too_many_requests" });
});

test("a generated key is answered, right or wrong, whatever is guessed beside it", async (t) => {
  const guesses = new GuessLimiter({ failures: 5, now: () => 0 });
  const secret = generateApiKey();
  const options = { guesses, catalog: catalogWith({ known: GRANT }, secret) };
  for (let i = 0; i < 5; i++) await findGrant(`wrong ${i}`, peer(), options);
  await t.throwsAsync(findGrant("wrong", peer(), options), { code: "too_many_requests" });
  t.deepEqual(await findGrant(secret, peer(), options), GRANT);
  for (let i = 0; i < 50; i++) t.is(await findGrant(generateApiKey(), peer(), options), null);
});
