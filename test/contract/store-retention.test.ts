import test from "ava";

import { storePlaces } from "./store-places.ts";
import { retentionContract } from "./store-retention.ts";

storePlaces.forEach(retentionContract);

test.after.always(async () => {
  for (const { cleanUp } of storePlaces) await cleanUp?.();
});
