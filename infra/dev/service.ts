import { start } from "../../src/cli/start.ts";
import { createPageHandler } from "../../src/http/assets.ts";
import { DEV_PAGE } from "./page-folder.ts";

// Threads would report their modules to the watching process as messages on their own channels.
delete process.env["WATCH_REPORT_DEPENDENCIES"];
// The page is read anew for each request, so that it may change while the service runs.
await start(process.env, { answerPage: (request, response) => createPageHandler(DEV_PAGE)(request, response) });
