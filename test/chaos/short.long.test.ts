import { FAULTS } from "./faults.ts";
import { declareShort } from "./short.ts";

declareShort(FAULTS.filter(({ cluster }) => cluster));
