import { containerEngineAnswers } from "./containers.ts";
import type { Way } from "./settings.ts";

/** The way that is asked for; without a wish, containers where an engine for them answers. */
export async function chooseWay(wish: Way | null): Promise<Way> {
  return wish ?? ((await containerEngineAnswers()) ? "containers" : "processes");
}
