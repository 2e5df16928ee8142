import { randomBytes } from "node:crypto";
import { Command, InvalidArgumentError, Option } from "commander";

import manifest from "../../package.json" with { type: "json" };
import { StartError } from "../errors.ts";
import { SETTINGS } from "../settings.ts";
import * as manage from "./manage.ts";
import { CommandError } from "./request.ts";
import { ship, type ShipOptions } from "./ship.ts";
import { start } from "./start.ts";

const program = new Command("loggia")
  .description("An event log service: one form post in; lists, filters and groups out.")
  .version(manifest.version)
  .showHelpAfterError();

program
  .command("start")
  .description("run the service; see below for its settings")
  .addHelpText("after", () => `\nSettings, by environment:\n${settingsHelp()}`)
  .action(() => start(process.env));

program
  .command("ship")
  .description("post each line of files, or of standard input, as an event")
  .argument("[file...]", "files to read; standard input where there are none")
  .option("--url <url>", "where events are posted", "http://127.0.0.1:8081")
  .requiredOption("--log <key>", "log that takes the events")
  .addOption(new Option("--key <apikey>", "API key of the log").env("LOGGIA_KEY").makeOptionMandatory())
  .option("--tags <tags>", "tags of every event, separated by blanks")
  .option("--source <source>", "source of every event")
  .option("--user <user>", "user of every event")
  .option(
    "--pattern <regex>",
    "expression whose named groups become fields: (?<text>…), tags, source, user, value, geo, link, data",
  )
  .option("--follow", "go on with what is appended to the file, until stopped")
  .option("--in-flight <n>", "posts under way at once", wholeFrom(1, 1000), 64)
  .option(
    "--cut <n>",
    "post longer lines cut to n characters, with the whole line as data; 0: as they are",
    wholeFrom(0, 1_000_000),
    500,
  )
  .option("--patience <seconds>", "how long a line is tried again", wholeFrom(0, 86_400), 60)
  .action(async (files: string[], options: Omit<ShipOptions, "patience_s"> & { patience: number }) => {
    const stop = new AbortController();
    process.once("SIGINT", () => stop.abort()).once("SIGTERM", () => stop.abort());
    const counts = await ship(files, { ...options, patience_s: options.patience }, process, stop.signal);
    console.log(`posted ${counts.posted}, failed ${counts.failed}, retried ${counts.retried}`);
    if (counts.failed > 0) process.exitCode = 1;
  });

type Scoped = manage.ServiceOptions & { readonly log: string };

const log = serviceGroup("log", "logs");
acting(
  log.command("add <key>").description("make a log").option("--display <text>", "its display name"),
  (options, key) => manage.addLog(options, key, options["display"] ?? key),
);
acting(log.command("list").description("list the logs that the account sees"), (options) => manage.listLogs(options));
acting(
  log
    .command("share <key> <email>")
    .description("share a log with a user")
    .addOption(new Option("--role <role>").choices(["user", "admin"]).default("user")),
  (options, key, email) => manage.shareLog(options, key, email, options["role"] ?? "user"),
);

const classes = serviceGroup("class", "class filters of a log");
acting(
  inLog(
    classes.command("add <key>").description("add a class: an event is of it when every condition given here holds"),
  )
    .option("--display <text>", "its display name")
    .option("--color <color>", "its color", "gray")
    .option("--tag <tag>", "is one of the event's tags", "")
    .option("--text <text>", "is contained in the event's text", "")
    .option("--link <text>", "is contained in the event's link", "")
    .option("--source <source>", "is the event's source", "")
    .option("--weight <n>", "among matching classes the one of highest weight wins", "0"),
  (options, key) => manage.addClass(options, options.log, readClass(key, options)),
);
acting(inLog(classes.command("list").description("list the classes of a log")), (options) =>
  manage.listClasses(options, options.log),
);
acting(inLog(classes.command("remove <key>").description("remove a class")), (options, key) =>
  manage.removeClass(options, options.log, key),
);

for (const option of ["alert", "notify", "hide"] as const) {
  const what = { alert: "alerts for", notify: "mail for", hide: "hiding of" }[option];
  const group = serviceGroup(option, `your own ${what} a class`);
  for (const [word, on] of [
    ["on", true],
    ["off", false],
  ] as const) {
    acting(inLog(group.command(`${word} <class>`).description(`turn ${what} a class ${word}`)), (options, key) =>
      manage.setOption(options, options.log, key, option, on),
    );
  }
}

const user = serviceGroup("user", "accounts");
acting(
  user
    .command("add <email>")
    .description("add an account")
    .option("--password <password>", "its password; drawn and shown where not given")
    .option("--admin", "may manage accounts")
    .option("--share <log[:role]>", "share a log with it (repeatable)", (value, all: string[]) => [...all, value], []),
  async (options, email) => {
    const password = options["password"] ?? randomBytes(12).toString("base64url");
    const shares = ((options as { share?: string[] }).share ?? []).map(readShare);
    const answer = await manage.addUser(options, { email, password, admin: "admin" in options }, shares);
    return options["password"] === undefined ? { ...answer, text: `${answer.text}, password: ${password}` } : answer;
  },
);

const key = serviceGroup("key", "API keys of a log");
acting(
  inLog(key.command("add").description("make an API key; its secret is shown once")).addOption(
    new Option("--scope <scope>").choices(["read-write", "read-only", "write-only"]).default("read-write"),
  ),
  (options) => manage.addKey(options, options.log, options["scope"] ?? "read-write"),
);
acting(inLog(key.command("disable <id>").description("disable an API key")), (options, id) =>
  manage.disableKey(options, options.log, id, true),
);
acting(inLog(key.command("enable <id>").description("enable it again")), (options, id) =>
  manage.disableKey(options, options.log, id, false),
);
acting(inLog(key.command("list").description("list the API keys of a log")), (options) =>
  manage.listKeys(options, options.log),
);

/** A group of commands that talk to the running service. */
function serviceGroup(name: string, description: string): Command {
  return program.command(name).description(`${description} (talks to the running service)`);
}

function inLog(command: Command): Command {
  return command.requiredOption("--log <key>", "the log");
}

/** Gives a command its options of address and account, and prints what its action answers. */
function acting(
  command: Command,
  action: (options: Scoped & Record<string, string | undefined>, ...words: string[]) => Promise<manage.Answer>,
): void {
  command
    .option("--api <url>", "address of the API", "http://127.0.0.1:8080")
    .addOption(new Option("--as <email:password>", "the account that acts").env("LOGGIA_AS").makeOptionMandatory())
    .option("--json", "print the service's own JSON")
    .action(async (...all: unknown[]) => {
      const options = all.at(-2) as Scoped & Record<string, string | undefined>;
      const answer = await action(options, ...(all.slice(0, -2) as string[]));
      console.log("json" in options ? JSON.stringify(answer.value, null, 2) : answer.text);
    });
}

function readClass(key: string, options: Record<string, string | undefined>) {
  const { display = key, color = "gray", tag = "", text = "", link = "", source = "", weight = "0" } = options;
  return { key, display, color, tag, text, link, source, weight: wholeFrom(-1_000_000, 1_000_000)(weight) };
}

function readShare(text: string): { log: string; role: string } {
  const [log = "", role = "user"] = text.split(":");
  return { log, role };
}

function wholeFrom(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`A whole number from ${least} to ${most} is expected.`);
  };
}

function settingsHelp(): string {
  return SETTINGS.map(
    ({ name, standard, help }) => `  ${name.padEnd(23)} ${help}${standard === "" ? "" : ` (default ${standard})`}`,
  ).join("\n");
}

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof StartError) && !(error instanceof CommandError)) throw error;
  console.error(`loggia: ${error.message}`);
  process.exit(1);
}
