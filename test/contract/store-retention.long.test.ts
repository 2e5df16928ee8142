import test from "ava";

import { storeAdapters } from "./store-adapters.ts";
import { retentionContract } from "./store-retention.ts";

storeAdapters.forEach(retentionContract);

test.after.always(async () => {
  for (const { cleanUp } of storeAdapters) await cleanUp?.();
});
