import { StartError } from "../errors.ts";
import type { SettingRow } from "./setting.ts";
import { invalidSetting } from "./values.ts";

// prettier-ignore
export const MAIL_SETTINGS = {
  server: { name: "LOGGIA_SMTP", standard: "", help: "mail server for notifications, smtp(s)://user:password@host:port", secret: true },
  from: { name: "LOGGIA_MAIL_FROM", standard: "", help: "sender of notifications, such as Loggia <loggia@example.org>" },
} as const satisfies Readonly<Record<string, SettingRow>>;

export type MailSettings = {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (`smtps:`). */
  readonly secure: boolean;
  readonly credentials: { readonly user: string; readonly password: string } | null;
  readonly from: { readonly name: string; readonly address: string };
};

/** Reads the settings of {@link MAIL_SETTINGS}, which need each other; null: no mail is sent. */
export function readMail(server: string, from: string): MailSettings | null {
  if (server === "" && from === "") return null;
  if (server === "" || from === "") {
    const [set, missing] =
      server === "" ? ["LOGGIA_MAIL_FROM", "LOGGIA_SMTP"] : ["LOGGIA_SMTP (or LOGGIA_SMTP_FILE)", "LOGGIA_MAIL_FROM"];
    throw new StartError(`${set} is set and ${missing} is not; mail needs both`);
  }
  const sender = /^(?:([^<>\p{Cc}]*)<([^<>@\s]+@[^<>@\s]+)>|([^<>@\s]+@[^<>@\s]+))$/u.exec(from);
  if (sender === null)
    throw invalidSetting("LOGGIA_MAIL_FROM", from, "loggia@example.org or Loggia <loggia@example.org>");
  const name = (sender[1] ?? "").trim().replace(/^"(.*)"$/, "$1");
  return { ...readMailServer(server), from: { name, address: sender[2] ?? sender[3] ?? "" } };
}

/** Parses `LOGGIA_SMTP`. The value is a secret, so errors show the syntax only. */
function readMailServer(server: string): Omit<MailSettings, "from"> {
  const allowed = "LOGGIA_SMTP must be smtp://host:port or smtps://host:port, with user:password@ if it needs them";
  const url = URL.parse(server);
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === "") throw new StartError(allowed);
  if (!/^\/?$/.test(url.pathname) || url.search !== "" || url.hash !== "") throw new StartError(allowed);
  if ((url.username === "") !== (url.password === ""))
    throw new StartError("LOGGIA_SMTP has a user or a password only; set both or neither");
  const secure = url.protocol === "smtps:";
  try {
    const user = decodeURIComponent(url.username);
    const password = decodeURIComponent(url.password);
    return {
      host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: url.port === "" ? (secure ? 465 : 587) : Number(url.port),
      secure,
      credentials: user === "" ? null : { user, password },
    };
  } catch (error) {
    throw new StartError("LOGGIA_SMTP has a % that is not followed by two hex digits; write it as %25", {
      cause: error,
    });
  }
}
