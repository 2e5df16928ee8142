import test from "ava";

import type { KeyGrant } from "../../src/catalog/catalog.ts";
import { drawApiKey } from "../../src/catalog/secrets.ts";
import { parseLogKey } from "../../src/events/event.ts";
import { createGate, DEFAULT_RATES } from "../../src/gate/gate.ts";
import { grantOf } from "../../src/gate/grant.ts";
import type { Place } from "../../src/gate/guesses.ts";

const GRANT: KeyGrant = { log: parseLogKey("shop")!, id: "0123456789abcdef", scope: "read-write", disabled: false };

/** A connection of its own. */
const place = (): Place => ({ address: "192.0.2.1", connection: {} });

/**
 * A catalog that finds a key in memory, or among others' changes; it counts how often it was asked.
 */
function catalogWith(found: { readonly known?: KeyGrant; readonly looked?: KeyGrant }, right = "right") {
  let asked = 0;
  return {
    asked: () => asked,
    knownApiKey: (secret: string) => {
      asked += 1;
      return secret === right ? (found.known ?? null) : null;
    },
    apiKey: async (secret: string) => {
      asked += 1;
      return secret === right ? (found.looked ?? found.known ?? null) : null;
    },
  };
}

test("a key is found in memory, or where others have just made it; disabled ones too", async (t) => {
  const gate = createGate();
  t.deepEqual(await grantOf("right", place(), { gate, catalog: catalogWith({ known: GRANT }) }), GRANT);
  t.deepEqual(await grantOf("right", place(), { gate, catalog: catalogWith({ looked: GRANT }) }), GRANT);
  const disabled = { ...GRANT, disabled: true };
  t.deepEqual(await grantOf("right", place(), { gate, catalog: catalogWith({ known: disabled }) }), disabled);
});

test("wrong keys are guesses; beyond the limit the right one is refused alike, without a look", async (t) => {
  const gate = createGate({ rates: { ...DEFAULT_RATES, failures: 5 } });
  const catalog = catalogWith({ known: GRANT });
  const known = { gate, catalog };
  const mine = place();
  gate.rightKey(mine, "right", GRANT.id, "key");
  for (let i = 0; i < 5; i++) t.is(await grantOf(`wrong ${i}`, place(), known), null);
  const asked = catalog.asked();
  const wrong = await t.throwsAsync(grantOf("wrong", place(), known), { code: "too_many_requests" });
  const right = await t.throwsAsync(grantOf("right", place(), known), { code: "too_many_requests" });
  t.is(right.message, wrong.message);
  t.is(catalog.asked(), asked);
  t.deepEqual(await grantOf("right", mine, known), GRANT, "on the connection where it was right before");
  await t.throwsAsync(grantOf("wrong", mine, known), { code: "too_many_requests" });
});

test("a drawn key is answered, right or wrong, however much is guessed beside it", async (t) => {
  const gate = createGate({ rates: { ...DEFAULT_RATES, failures: 5 } });
  const secret = drawApiKey();
  const options = { gate, catalog: catalogWith({ known: GRANT }, secret) };
  for (let i = 0; i < 5; i++) await grantOf(`wrong ${i}`, place(), options);
  await t.throwsAsync(grantOf("wrong", place(), options), { code: "too_many_requests" });
  t.deepEqual(await grantOf(secret, place(), options), GRANT);
  for (let i = 0; i < 50; i++) t.is(await grantOf(drawApiKey(), place(), options), null);
});
