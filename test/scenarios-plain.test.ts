import { declareScenarios } from "./scenarios/declare.ts";
import { PLAIN } from "./scenarios/engine.ts";

declareScenarios(PLAIN);
