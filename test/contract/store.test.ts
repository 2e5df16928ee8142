import test from "ava";

import { storeContract } from "./store.ts";
import { storeAdapters } from "./store-adapters.ts";

storeAdapters.forEach(storeContract);

test.after.always(async () => {
  for (const { cleanUp } of storeAdapters) await cleanUp?.();
});
