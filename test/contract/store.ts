import { classesContract } from "./store-classes.ts";
import { conditionContract } from "./store-conditions.ts";
import { dataContract } from "./store-data.ts";
import { deletionsContract } from "./store-deletions.ts";
import { differentialContract } from "./store-differential.ts";
import { documentationContract } from "./store-documentation.ts";
import { fieldsContract } from "./store-fields.ts";
import { groupKeyContract } from "./store-groups.ts";
import type { StoreAdapter } from "./store-fixture.ts";
import { listContract } from "./store-lists.ts";
import { longTextsContract } from "./store-long-texts.ts";
import { marksContract } from "./store-marks.ts";
import { nestingContract } from "./store-nesting.ts";
import { pageContract } from "./store-pages.ts";
import { seenContract } from "./store-seen.ts";
import { usersContract } from "./store-users.ts";
import { writeContract } from "./store-writes.ts";

/** Declares the tests that every adapter of the store port passes. */
export function storeContract(adapter: StoreAdapter): void {
  writeContract(adapter);
  marksContract(adapter);
  seenContract(adapter);
  deletionsContract(adapter);
  classesContract(adapter);
  conditionContract(adapter);
  dataContract(adapter);
  listContract(adapter);
  longTextsContract(adapter);
  groupKeyContract(adapter);
  nestingContract(adapter);
  pageContract(adapter);
  usersContract(adapter);
  documentationContract(adapter);
  fieldsContract(adapter);
  differentialContract(adapter);
}
