import { containerEngineAnswers } from "./containers.ts";
import type { Way } from "./settings.ts";

/** Returns the requested way; by default containers, if a container engine is available. */
export async function chooseWay(requested: Way | null): Promise<Way> {
  return requested ?? ((await containerEngineAnswers()) ? "containers" : "processes");
}
