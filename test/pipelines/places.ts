import { EMBEDDED } from "./house.ts";
import type { Place } from "./house.ts";

/** Every kind of engines that a pipeline runs on. */
export const PLACES: readonly Place[] = [EMBEDDED];
