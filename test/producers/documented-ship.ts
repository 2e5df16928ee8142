import test from "ava";
import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { KEY, LOG } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { snippetOf } from "./snippets.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;
/** Positions of the commands: other files may have had the inodes of these. */
const STATE = temporaryFolder({ teardown: (remove) => test.after.always(remove) });
const execute = promisify(execFile);

/** Runs a documented command that ships files, to their end. */
export async function shipAsIn(
  { postUrl }: Service,
  page: string,
  { n = 0, from, to }: { readonly n?: number; readonly from: string; readonly to: string },
): Promise<void> {
  const replace = { "--log shop": `--log ${LOG}`, "shop-key-1": KEY, " --follow": "", [from]: to };
  const code = snippetOf(`docs/producers/${page}.md`, "sh", { n, replace });
  await execute("sh", ["-ec", `loggia() { "${process.execPath}" "${LOGGIA}" "$@"; }\n${code}`], {
    env: { ...process.env, LOGGIA_POST: postUrl, XDG_STATE_HOME: STATE },
  });
}
