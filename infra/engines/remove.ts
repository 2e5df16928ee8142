/** `node infra/engines/remove.ts FOLDER`: ends the engines of a folder whose owner could not, and removes it. */
import { removeEngineFolder } from "./temporary.ts";

const [folder] = process.argv.slice(2);
if (folder !== undefined) await removeEngineFolder(folder);
