import { declareScenarios } from "./scenarios/declare.ts";
import { ENGINES } from "./scenarios/engines.ts";

for (const engine of ENGINES) declareScenarios(engine);
