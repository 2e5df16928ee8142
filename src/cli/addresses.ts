import { Option } from "commander";

import { SERVICE_SETTINGS } from "../settings/service.ts";
import { CommandError } from "./request.ts";

const { api, post } = SERVICE_SETTINGS;
/** Address settings of the service, and the command-line options of the same address. */
const OPTION_OF = { [api.name]: "--api", [post.name]: "--post" } as const;
const DEFAULTS = { [api.name]: api.standard, [post.name]: post.standard } as const;
type Setting = keyof typeof OPTION_OF;

const LOOPBACK_OF: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "[::]": "[::1]" };

export function defaultAddress(setting: Setting): string {
  return DEFAULTS[setting];
}

/** Returns the option for an address. It defaults to the service's setting in the environment. */
export function addressOption(setting: Setting, what: string): Option {
  return new Option(`${OPTION_OF[setting]} <address>`, `${what}, host:port or a URL`)
    .env(setting)
    .default(defaultAddress(setting))
    .argParser((text) => text.trim() || defaultAddress(setting));
}

/**
 * Returns the base URL of a service, from `host:port` as in its settings or from a URL, with or
 * without `/1`. A wildcard address is replaced by the loopback address.
 * @throws CommandError if `text` is not the address of a service
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
    throw new CommandError(
      `${name}${from} is ${JSON.stringify(text)}; with port 0 the service chooses a port; name the chosen one`,
    );
  url.hostname = LOOPBACK_OF[url.hostname] ?? url.hostname;
  url.pathname = url.pathname.replace(/\/(?:1\/?)?$/, "");
  return url;
}
