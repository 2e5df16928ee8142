import { Command, Option } from "commander";

import { FORM_FIELD_NAMES } from "../events/field-order.ts";
import manifest from "../../package.json" with { type: "json" };
import { StartError } from "../errors.ts";
import { DEFAULT_LIMITS } from "../events/limits.ts";
import { FORMAT_NAMES } from "./ship/formats.ts";
import { MULTILINE_WAIT_S } from "./ship/framing.ts";
import { addressOption } from "./addresses.ts";
import { addMachineCommands, addManagementCommands, addOperationCommands, addQueryCommands } from "./commands.ts";
import { collect, wholeFrom } from "./option-values.ts";
import { CommandError } from "./request.ts";
import { ship, type ShipOptions } from "./ship.ts";
import { printableLines } from "./terminal.ts";
import { DATE_ORDERS } from "../ingest/kit/time-forms.ts";

/** Loaded only to be shown: with them, all protocols are loaded. */
const settings = process.argv.includes("start") ? (await import("../settings.ts")).LISTED_SETTINGS : [];

const program = new Command("loggia")
  .description("An event log service: it accepts events over HTTP, and lists, filters and groups them.")
  .version(manifest.version)
  // Subcommands inherit this: errors repeat invalid words, which may come from an untrusted source.
  .configureOutput({ writeErr: (text) => process.stderr.write(printableLines(text)) })
  .showHelpAfterError();

program
  .command("start")
  .description("run the service; see below for its settings")
  .addHelpText("after", () => `\nSettings, by environment:\n${settingsHelp()}`)
  // Loaded on demand: commands that only call a service need no engines.
  .action(async () => (await import("./start.ts")).start(process.env));

program
  .command("ship")
  .description("post each line of files, or of standard input, as an event")
  .argument("[file...]", "files, folders and globs to read, also gzip and zstd archives (default: standard input)")
  .addOption(addressOption("LOGGIA_POST", "address that events are posted to"))
  .option("--url <address>", "the same as --post")
  .requiredOption("--log <key>", "log to post to")
  .addOption(new Option("--key <apikey>", "API key of the log").env("LOGGIA_KEY").makeOptionMandatory())
  .option("--tags <tags>", "tags of every event, separated by blanks")
  .option("--source <source>", "source of events that name no service or program")
  .option("--user <user>", "user of every event")
  .option(
    "--pattern <regex>",
    "regular expression whose named groups become fields: " +
      `(?<text>…), ${FORM_FIELD_NAMES.filter((name) => name !== "text").join(", ")}, created; ` +
      "other groups become attributes",
  )
  .option("--json", "lines are JSON objects, as loggers write them; see docs/producers/README.md")
  .addOption(
    new Option("--dates <order>", "order of day and month in dates such as 05/06/2011; not read by default").choices(
      DATE_ORDERS,
    ),
  )
  .option("--time-format <format>", "how times are written, such as %d/%m/%Y %H:%M:%S; known forms are read without it")
  .option("--tz <zone>", "time zone of times without one: hours from UTC, or a name (default: this machine's)")
  .option(
    "--multiline-start <regex>",
    "regular expression that matches the first line of each event; other lines continue it, " +
      "and . in --pattern matches line breaks",
  )
  .option(
    "--multiline-wait <seconds>",
    "how long after its last byte an event of several lines ends if no other begins",
    wholeFrom(1, 86_400),
    MULTILINE_WAIT_S,
  )
  .option("--follow", "follow appended lines and new files until stopped")
  .option(
    "--state <folder>",
    "folder that stores how far files were read; none: do not store it (default: a folder for this command)",
  )
  .option(
    "--links-to <folder>",
    "folder that symbolic links in the named folders may lead to; may be repeated. Other links out of these are skipped",
    collect,
    [],
  )
  .option("--journal", "read systemd's journal with journalctl; arguments after -- are passed to it")
  .option("--docker [folder]", "read the files of Docker's json-file driver in this folder")
  .addOption(new Option("--format <name>", "what wrote the lines; see docs/producers/ship.md").choices(FORMAT_NAMES))
  .option("--kubernetes [folder]", "read the files of Kubernetes' containers in this folder (default: /var/log/pods)")
  .option("--in-flight <n>", "batches in flight; more than one may change the order of lines", wholeFrom(1, 64), 1)
  .option(
    "--cut <n>",
    "cut the text of longer lines to n characters, tag them cut and post the line as data; 0: do not cut",
    wholeFrom(0, 1_000_000),
    DEFAULT_LIMITS.text,
  )
  .option(
    "--data <n>",
    "how many characters of a cut line are posted as data",
    wholeFrom(1, 1_000_000),
    DEFAULT_LIMITS.data,
  )
  .option(
    "--patience <seconds>",
    "how long to retry while Loggia accepts no posts (default: 60; with --follow: for ever)",
    wholeFrom(0, 86_400),
  )
  .action(async (files: string[], options: Omit<ShipOptions, "patience_s"> & { patience?: number; url?: string }) => {
    const stop = new AbortController();
    process.once("SIGINT", () => stop.abort()).once("SIGTERM", () => stop.abort());
    const counts = await ship(
      files,
      { ...options, post: options.url ?? options.post, patience_s: options.patience ?? patienceOf(options) },
      process,
      stop.signal,
    );
    const kept = counts.kept === 0 ? "" : `, kept for the next run ${counts.kept}`;
    console.log(`posted ${counts.posted}, failed ${counts.failed}, retried ${counts.retried}${kept}`);
    if (counts.failed > 0 || counts.kept > 0 || counts.unread > 0 || counts.isUnmatched) process.exitCode = 1;
  });

/** Returns how long a shipper waits by default: one that follows files has nothing else to do. */
function patienceOf({ follow = false }: Pick<ShipOptions, "follow">): number {
  return follow ? Infinity : 60;
}

addQueryCommands(program);
addManagementCommands(program);
addOperationCommands(program);
addMachineCommands(program);

function settingsHelp(): string {
  return settings
    .map(({ name, standard, help }) => `  ${name.padEnd(23)} ${help}${standard === "" ? "" : ` (default ${standard})`}`)
    .join("\n");
}

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof StartError) && !(error instanceof CommandError)) throw error;
  console.error(`loggia: ${printableLines(error.message)}`);
  process.exit(1);
}
