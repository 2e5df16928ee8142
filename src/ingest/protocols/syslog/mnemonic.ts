/** What kind of message of Cisco follows: `%SYS-5-CONFIG_I:`, `%PKT_INFRA-LINK-3-UPDOWN :`. */
const MNEMONIC = String.raw`%(?<mnemonic>[A-Z][\w-]{0,100}-[0-7]-\w{1,100}) ?:`;
const AT_START = new RegExp(`^${MNEMONIC}`);
/** IOS-XR puts the process before it, NX-OS the virtual device. */
const MESSAGE = new RegExp(String.raw`(?:[\w./-]{1,100}\[\d{1,10}\] ?: ?|%\$[\w-]{1,64}\$ ?)?${MNEMONIC}`, "y");

/** Returns whether a message with a mnemonic begins at a position. */
export function isDeviceMessage(line: string, at: number): boolean {
  MESSAGE.lastIndex = at;
  return MESSAGE.test(line);
}

/** Returns the mnemonic that a message begins with, without its percent sign; "" if there is none. */
export function mnemonicOf(text: string): string {
  return text.startsWith("%") ? (AT_START.exec(text)?.groups?.["mnemonic"] ?? "") : "";
}
