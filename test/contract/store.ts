import { classesContract } from "./store-classes.ts";
import { conditionContract } from "./store-conditions.ts";
import { deletionsContract } from "./store-deletions.ts";
import { differentialContract } from "./store-differential.ts";
import { documentationContract } from "./store-documentation.ts";
import { fieldsContract } from "./store-fields.ts";
import { groupKeyContract } from "./store-groups.ts";
import type { StorePlace } from "./store-fixture.ts";
import { listContract } from "./store-lists.ts";
import { marksContract } from "./store-marks.ts";
import { pageContract } from "./store-pages.ts";
import { seenContract } from "./store-seen.ts";
import { usersContract } from "./store-users.ts";
import { writeContract } from "./store-writes.ts";

/** Declares the tests that every adapter of the store port passes. */
export function storeContract(place: StorePlace): void {
  writeContract(place);
  marksContract(place);
  seenContract(place);
  deletionsContract(place);
  classesContract(place);
  conditionContract(place);
  listContract(place);
  groupKeyContract(place);
  pageContract(place);
  usersContract(place);
  documentationContract(place);
  fieldsContract(place);
  differentialContract(place);
}
