import { differentialContract } from "./store-differential.ts";
import type { StorePlace } from "./store-fixture.ts";

/** Declares the tests that every adapter of the store port has to pass. */
export function storeContract(place: StorePlace): void {
  differentialContract(place);
}
