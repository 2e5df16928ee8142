import test from "ava";

import { storeContract } from "./store.ts";
import { storePlaces } from "./store-places.ts";

storePlaces.forEach(storeContract);

test.after.always(async () => {
  for (const { cleanUp } of storePlaces) await cleanUp?.();
});
