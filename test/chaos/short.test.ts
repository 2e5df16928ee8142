import { FAULTS } from "./faults.ts";
import { declareShort } from "./short.ts";

/** Left to the long form: what it adds to `poller-cluster` is luck. */
const LONG_ONLY = "poller-spread";

declareShort(FAULTS.filter(({ cluster, name }) => cluster && name !== LONG_ONLY));
