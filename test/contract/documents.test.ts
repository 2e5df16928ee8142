import test from "ava";

import { documentsContract } from "./documents.ts";
import { DOCUMENTS_ADAPTERS } from "./documents-adapters.ts";

for (const { name, openStorage } of DOCUMENTS_ADAPTERS) documentsContract(test, name, openStorage);
