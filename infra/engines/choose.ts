import { containerEngineAnswers } from "./containers.ts";
import type { Way } from "./settings.ts";

/** Returns the requested way; by default containers, if a container engine is available. */
export async function chooseWay(wish: Way | null): Promise<Way> {
  return wish ?? ((await containerEngineAnswers()) ? "containers" : "processes");
}
