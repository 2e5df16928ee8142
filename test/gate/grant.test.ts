import test from "ava";

import type { KeyGrant } from "../../src/catalog/catalog.ts";
import { parseLogKey } from "../../src/events/event.ts";
import { createGate, DEFAULT_RATES } from "../../src/gate/gate.ts";
import { grantOf } from "../../src/gate/grant.ts";

const ADDRESS = "192.0.2.1";
const GRANT: KeyGrant = { log: parseLogKey("shop")!, id: "0123456789abcdef", scope: "read-write", disabled: false };

/** A catalog that finds a key in memory, or where it looks among what other processes have changed. */
function catalogWith(found: { readonly known?: KeyGrant; readonly looked?: KeyGrant }) {
  return {
    knownApiKey: (secret: string) => (secret === "right" ? (found.known ?? null) : null),
    apiKey: async (secret: string) => (secret === "right" ? (found.looked ?? found.known ?? null) : null),
  };
}

test("a key is found in memory, or where others have just made it; disabled ones too", async (t) => {
  const gate = createGate();
  t.deepEqual(await grantOf("right", ADDRESS, { gate, catalog: catalogWith({ known: GRANT }) }), GRANT);
  t.deepEqual(await grantOf("right", ADDRESS, { gate, catalog: catalogWith({ looked: GRANT }) }), GRANT);
  const disabled = { ...GRANT, disabled: true };
  t.deepEqual(await grantOf("right", ADDRESS, { gate, catalog: catalogWith({ known: disabled }) }), disabled);
});

test("wrong keys are guesses; one that was right from there before passes beside them, one that others have just made waits", async (t) => {
  const gate = createGate({ rates: { ...DEFAULT_RATES, failures: 5 } });
  const known = { gate, catalog: catalogWith({ known: GRANT }) };
  for (let i = 0; i < 5; i++) t.is(await grantOf(`wrong ${i}`, ADDRESS, known), null);
  const error = { code: "too_many_requests" };
  await t.throwsAsync(grantOf("wrong", ADDRESS, known), error);
  await t.throwsAsync(grantOf("right", ADDRESS, known), error);
  gate.passed(ADDRESS, GRANT.id, "key");
  t.deepEqual(await grantOf("right", ADDRESS, known), GRANT);
  await t.throwsAsync(grantOf("right", ADDRESS, { gate, catalog: catalogWith({ looked: GRANT }) }), error);
});
