import { declareScenarios } from "./scenarios/declare.ts";
import { ENGINES } from "./scenarios/engines.ts";

ENGINES.forEach(declareScenarios);
