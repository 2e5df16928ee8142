import { Option } from "commander";

import { SETTINGS } from "../settings/table.ts";
import { CommandError } from "./request.ts";

/**
 * A setting of the service, which says where it listens, and the option that names the same address
 * to a command.
 */
const OPTION_OF = { LOGGIA_API: "--api", LOGGIA_POST: "--post" } as const;
type Setting = keyof typeof OPTION_OF;

const EVERYWHERE: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "[::]": "[::1]" };

export function standardOf(setting: Setting): string {
  return SETTINGS.find(({ name }) => name === setting)!.standard;
}

/**
 * The option of an address, which the setting of the service gives where the command line does not.
 */
export function addressOption(setting: Setting, what: string): Option {
  return new Option(`${OPTION_OF[setting]} <address>`, `${what}, host:port or a URL`)
    .env(setting)
    .default(standardOf(setting))
    .argParser((text) => text.trim() || standardOf(setting));
}

/**
 * The base of a service's URLs: of `host:port`, as the service's settings have it, or of a URL,
 * with or without `/1`. An address that means all of the machine is asked at its loopback.
 * @throws CommandError where `text` is no address of a service
 */
export function parseBase(setting: Setting | "LOGGIA_OPS", text: string): URL {
  const url = URL.parse(/^(?:\[[0-9a-f:.]+\]|[^\s:/[\]]+):\d{1,5}$/i.test(text) ? `http://${text}` : text);
  const name = setting === "LOGGIA_OPS" ? setting : OPTION_OF[setting];
  const from = name === setting ? "" : ` (or ${setting})`;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CommandError(
      `${name}${from} is ${JSON.stringify(text)}; ` +
        "an address such as 127.0.0.1:8080 or http://127.0.0.1:8080 is expected",
    );
  }
  if (url.port === "0")
    throw new CommandError(`${name}${from} is ${JSON.stringify(text)}; the service chose a port, name that one`);
  url.hostname = EVERYWHERE[url.hostname] ?? url.hostname;
  url.pathname = url.pathname.replace(/\/(?:1\/?)?$/, "");
  return url;
}
