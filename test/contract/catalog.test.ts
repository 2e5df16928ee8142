import test from "ava";

import { catalogContract } from "./catalog.ts";
import { DOCUMENTS_ADAPTERS } from "./documents-adapters.ts";

for (const { name, openStorage } of DOCUMENTS_ADAPTERS) catalogContract(test, name, openStorage);
