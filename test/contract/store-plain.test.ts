import { PLAIN_DUCKDB } from "./duckdb-adapter.ts";
import { storeContract } from "./store.ts";

storeContract(PLAIN_DUCKDB);
