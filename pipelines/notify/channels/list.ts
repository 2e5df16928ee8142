import type { SettingRow } from "../../../src/settings/setting.ts";
import type { Channel } from "./channel.ts";
import { MAIL } from "./mail.ts";
import { type OpenChannel, openChannel } from "./open-channel.ts";

/** All channels of notification. */
export const CHANNELS: readonly Channel<unknown>[] = [MAIL];

/** Settings of all channels. */
export const CHANNEL_SETTINGS: readonly SettingRow[] = CHANNELS.flatMap(({ settings }) => settings);

/**
 * Returns the channels that are configured. None connects before it sends.
 * @throws StartError as {@link Channel.configure}
 */
export function openChannels(valueOf: (setting: SettingRow) => string): readonly OpenChannel[] {
  return CHANNELS.flatMap((channel) => {
    const sender = channel.configure(valueOf);
    return sender === null ? [] : [openChannel(channel, sender)];
  });
}
