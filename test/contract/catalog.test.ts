import test from "ava";

import { catalogContract } from "./catalog.ts";
import { PLACES } from "./documents-places.ts";

for (const { name, take } of PLACES) catalogContract(test, name, take);
