import type { ExecutionContext } from "ava";

import type { Catalog } from "../../src/catalog/catalog.ts";
import { parseLogKey } from "../../src/events/event.ts";
import { SHOP, addLog, fails } from "./catalog-fixture.ts";

export async function hooks(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const [catalog, there] = [await start(), await start()];
  await addLog(catalog, SHOP, "ann@example.org");
  const other = parseLogKey("other")!;
  t.deepEqual(catalog.hooks(SHOP), []);
  const made = await catalog.createHook(SHOP, { name: "GitHub", signature: "github" });
  t.like(made, { name: "github", kind: "github", signature: "github", template: null });
  t.regex(made.secret!, /^whsec_[A-Za-z0-9+/]{43}=$/);
  t.is((await there.receivingHook(SHOP, "GITHUB"))?.secret, made.secret!, "another process looks for it");
  t.is(await there.receivingHook(other, "github"), null);
  t.is(await there.receivingHook(SHOP, "no hook's name"), null);
  t.is(catalog.cachedHook(SHOP, "github")?.secret, made.secret!);
  t.deepEqual(
    catalog.hooks(SHOP).map((hook) => Object.keys(hook).toSorted()),
    [["created", "kind", "name", "signature", "template"]],
    "lists show no secret",
  );

  const chosen = await catalog.createHook(SHOP, { name: "billing", secret: `whsec_${"A".repeat(32)}` });
  t.like(chosen, { kind: "json", signature: "standard", secret: null });
  t.deepEqual(
    catalog.hooks(SHOP).map(({ name }) => name),
    ["billing", "github"],
  );
  await fails(t, "hook_exists", catalog.createHook(SHOP, { name: "Billing" }), /already has a hook billing/);
  await fails(t, "log_not_found", catalog.createHook(other, { name: "billing" }), /other/);
  await fails(t, "bad_parameter", catalog.createHook(SHOP, { name: "a b" }), /field name/);
  await fails(
    t,
    "bad_parameter",
    catalog.createHook(SHOP, { name: "x", signature: "github", secret: "short" }),
    /8 to 200/,
  );
  await fails(
    t,
    "bad_parameter",
    catalog.createHook(SHOP, { name: "x", signature: "none", secret: "long enough" }),
    /signature/,
  );
  await fails(
    t,
    "bad_parameter",
    catalog.createHook(SHOP, { name: "x", signature: "standard", secret: "not-base64!" }),
    /whsec_/,
  );
  await fails(
    t,
    "bad_parameter",
    catalog.createHook(SHOP, { name: "x", template: { text: "{a" } }),
    /template\.text .*end/,
  );

  t.is((await catalog.updateHook(SHOP, "github", { signature: "github", template: { text: "{a}" } })).secret, null);
  t.is(catalog.cachedHook(SHOP, "github")?.secret, made.secret!, "kept where none is given");
  await catalog.updateHook(SHOP, "github", { signature: "github", secret: "another-secret" });
  t.like(catalog.cachedHook(SHOP, "github"), { secret: "another-secret", template: null });
  const anew = (await catalog.updateHook(SHOP, "github", { signature: "github", secret: null })).secret!;
  t.regex(anew, /^whsec_/, "drawn where null is given");
  t.is(catalog.cachedHook(SHOP, "github")?.secret, anew);
  await catalog.updateHook(SHOP, "github", { signature: "none" });
  t.is(catalog.cachedHook(SHOP, "github")?.secret, undefined);
  t.regex((await catalog.updateHook(SHOP, "github", { signature: "github" })).secret!, /^whsec_/, "drawn anew");
  await fails(t, "hook_not_found", catalog.updateHook(SHOP, "gone", {}), /gone/);
  await catalog.deleteHook(SHOP, "GITHUB");
  await fails(t, "hook_not_found", catalog.deleteHook(SHOP, "github"), /github/);
  await fails(
    t,
    "bad_parameter",
    catalog.updateHook(SHOP, "billing", { signature: "none", secret: null }),
    /signature/,
  );
  const drawn = await catalog.createHook(SHOP, { name: "sentry", secret: null });
  t.is(drawn.signature, "sentry", "that of its kind");
  t.regex(drawn.secret!, /^whsec_/);
  await catalog.deleteHook(SHOP, "sentry");
  await catalog.deleteHook(SHOP, "billing");
  t.deepEqual(catalog.hooks(SHOP), []);
}
