import { FAULTS } from "./faults.ts";
import { declareShort } from "./short.ts";

/** Left to the long form: without a fault it takes luck to see a miss. */
const LONG_ONLY = "poller-spread";
/** Lists by `sinceid` do not yet hold back what may still arrive out of order: see docs/reliability.md. */
const KNOWN = ["poller-cluster"];

declareShort(
  FAULTS.filter(({ cluster, name }) => cluster && name !== LONG_ONLY),
  KNOWN,
);
