import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

import { cannotListen, LISTENERS, listenOn } from "../http/listen.ts";
import type { Listener } from "../http/listen.ts";
import type { Settings } from "../settings.ts";
import type { Transport } from "../settings/listeners.ts";
import type { Address } from "../settings/values.ts";
import { protocolSockets } from "./listeners.ts";

/** An address at which this process is going to listen. */
type Wanted = { readonly address: Address; readonly transport: Transport; readonly listener: Listener };

/**
 * Checks that nobody listens at the addresses of this process, before it shows secrets that belong
 * to a service that does not start. Another process may still take one before it is opened.
 * @throws StartError in one line
 */
export async function requireFreeAddresses(settings: Settings): Promise<void> {
  // All are held until the last one is checked, so that two that are equal are found.
  await using held = new AsyncDisposableStack();
  for (const wanted of wantedAddresses(settings)) {
    if (wanted.transport === "tcp") await holdTcp(wanted, held);
    else await holdUdp(wanted, held);
  }
}

function wantedAddresses({ roles, api, post, listeners }: Settings): readonly Wanted[] {
  const transport = "tcp";
  const wanted: Wanted[] = [];
  if (roles.has("api")) {
    wanted.push({ address: api, transport, listener: LISTENERS.api });
  }
  if (!roles.has("post")) return wanted;
  wanted.push({ address: post, transport, listener: LISTENERS.post });
  for (const { protocol, sockets } of protocolSockets(listeners)) {
    const listener = { name: protocol.title, setting: protocol.setting.name };
    wanted.push(...sockets.map((socket) => ({ address: socket, transport: socket.transport, listener })));
  }
  return wanted;
}

async function holdTcp({ address, listener }: Wanted, held: AsyncDisposableStack): Promise<void> {
  const server = createServer();
  held.defer(async () => {
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  });
  await listenOn(server, address, listener);
}

async function holdUdp({ address, listener }: Wanted, held: AsyncDisposableStack): Promise<void> {
  const socket = createSocket(address.host.includes(":") ? "udp6" : "udp4");
  held.defer(() => void socket.close());
  try {
    socket.bind({ address: address.host, port: address.port });
    await once(socket, "listening");
  } catch (error) {
    throw cannotListen(error, address, listener);
  }
}
