import { execFile } from "node:child_process";
import test from "ava";

import type { LogKey } from "../../src/events/event.ts";
import { ADMIN, LOG, serviceOf } from "../support/service.ts";
import { until } from "../support/until.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;

/**
 * Sets the title, clears the screen, hides the following text, writes to the clipboard, in 7-bit
 * and 8-bit codes.
 */
const HOSTILE =
  "\u001b]0;pwned\u0007\u001b[2J\u001b[8m\u009b31m\u001b]52;c;cm0gLXJm\u0007\u202e\u061cevil\u2028\r\n\u0000end";

// oxlint-disable-next-line no-control-regex
const STEERING = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

/** Returns the complete output of a command. */
function run(args: readonly string[], environment: Record<string, string>): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [LOGGIA, ...args], { env: { ...process.env, ...environment } }, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}

test("no text in a record controls the terminal through the command's output", async (t) => {
  t.timeout(120_000);
  const service = await serviceOf(t, "embedded");
  const { catalog, bus } = service.ports;
  const log = LOG as LogKey;
  await catalog.updateLog(log, { display: HOSTILE });
  const filter = {
    key: "evil",
    color: "red",
    weight: 1,
    display: HOSTILE,
    tag: "evil",
    text: HOSTILE,
    link: HOSTILE,
    source: HOSTILE,
  };
  await catalog
    .createClassFilter(log, filter)
    .catch(() => catalog.createClassFilter(log, { ...filter, text: "", link: "", source: "" }));
  // Written to the topic itself, for dead letters that need no post.
  await bus.append("events", [{ key: HOSTILE, value: Buffer.from(HOSTILE) }]);
  const metrics = async () => (await fetch(`${service.apiUrl}/metrics`)).text();
  await until(async () => (await metrics()).includes('loggia_dead_letters_total{stage="decode"} 1'), {
    what: "the dead letter",
  });

  const environment = { LOGGIA_AS: `${ADMIN.email}:${ADMIN.password}` };
  const commands = [
    ["log", "list"],
    ["log", "show", LOG],
    ["class", "list", "--log", LOG],
    ["class", "show", "evil", "--log", LOG],
    ["key", "list", "--log", LOG],
    ["user", "list"],
    ["deadletters", "list"],
    ["log", "show", LOG, "--json"],
    ["deadletters", "list", "--json"],
    // Errors repeat the faulty word, in the service or in the command.
    ["log", "show", HOSTILE.replaceAll("\u0000", "")],
    ["class", "add", HOSTILE.replaceAll("\u0000", ""), "--log", LOG],
    ["user", "add", HOSTILE.replaceAll("\u0000", "")],
    ["ship", "--log", LOG, "--key", "x", `/nowhere/${HOSTILE.replaceAll("\u0000", "")}`],
    [HOSTILE.replaceAll("\u0000", "")],
  ];
  for (const command of commands) {
    const args = ["deadletters", "class", "log", "key", "user"].includes(command[0]!)
      ? [...command, "--api", service.apiUrl]
      : command;
    const output = await run(args, environment);
    t.not(output, "", JSON.stringify(command));
    t.false(STEERING.test(output), `${JSON.stringify(command)}: ${JSON.stringify(output.slice(0, 400))}`);
  }
  const shown = await run(["deadletters", "list", "--api", service.apiUrl], environment);
  t.true(shown.includes("pwned"), "it was there to be shown");
  const json = await run(["log", "show", LOG, "--json", "--api", service.apiUrl], environment);
  t.is((JSON.parse(json) as { display: string }).display, catalog.log(log)!.display, "and JSON is the same");
});
