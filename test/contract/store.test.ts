import { storeContract } from "./store.ts";
import { storePlaces } from "./store-places.ts";

storePlaces.forEach(storeContract);
