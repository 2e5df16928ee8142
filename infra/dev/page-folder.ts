import { join } from "node:path";

/** Folder of the page that `make dev` builds, apart from the one that `make run` serves. */
export const DEV_PAGE = join(import.meta.dirname, "../../dist/dev-page");
