import test from "ava";

import { documentsContract } from "./documents.ts";
import { PLACES } from "./documents-places.ts";

for (const { name, take } of PLACES) documentsContract(test, name, take);
