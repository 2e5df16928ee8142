/** `node infra/engines/remove.ts FOLDER`: stops the engines of a folder and removes it. */
import { removeEngineFolder } from "./temporary.ts";

const [folder] = process.argv.slice(2);
if (folder !== undefined) await removeEngineFolder(folder);
