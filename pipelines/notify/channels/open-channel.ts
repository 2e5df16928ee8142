import type { Channel, ChannelMessage, Recipient, ChannelSender, SendOutcome } from "./channel.ts";

/** A configured channel, which sends to the accounts of the service. */
export type OpenChannel = Pick<Channel<unknown>, "kind" | "noun"> &
  Pick<ChannelSender<unknown>, "deadline_ms" | "secrets"> & {
    /** Sends a message, as {@link ChannelSender.send}. Refuses it if the channel's check does. */
    send(message: ChannelMessage, recipient: Recipient): Promise<SendOutcome>;
  };

export function openChannel<Target>(channel: Channel<Target>, sender: ChannelSender<Target>): OpenChannel {
  const { kind, noun } = channel;
  const { deadline_ms, secrets } = sender;
  return {
    kind,
    noun,
    deadline_ms,
    secrets,
    send: async (message, recipient) => {
      const target = channel.targetOf(recipient);
      const fault = channel.check(target);
      return fault === null ? await sender.send(message, target) : { kind: "refused", reason: fault };
    },
  };
}
