import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

import { linger } from "./last-answer.ts";

type Handle = (request: IncomingMessage, response: ServerResponse) => void;
type Lane = { running: number; readonly waiting: (() => void)[]; isOver: boolean };

export type StepLimits = {
  /** Requests of one connection that are handled at a time. Their answers go out in order in any case. */
  readonly atOnce: number;
  /**
   * Beyond so many that wait, a connection is an attacker's: it ends with the answers that are
   * under way.
   */
  readonly mostWaiting: number;
};

/**
 * Handles no more of what a client has sent ahead than a few requests, until it has taken their answers, and reads no further meanwhile where no body is read either. Node hands on all that
 * came in one piece, a thousand requests in 64 KB, holds up everybody with all of them, and keeps their answers for a client that reads none.
 */
export function inSteps({ atOnce, mostWaiting }: StepLimits, handle: Handle): Handle {
  const lanes = new WeakMap<Socket, Lane>();
  return (request, response) => {
    const { socket } = request;
    let lane = lanes.get(socket);
    if (lane === undefined) lanes.set(socket, (lane = { running: 0, waiting: [], isOver: false }));
    if (lane.isOver) return;
    const { waiting } = lane;
    const start = (): void => {
      lane.running += 1;
      response.once("close", leave);
      handle(request, response);
    };
    const leave = (): void => {
      lane.running -= 1;
      if (socket.destroyed) return;
      if (lane.isOver) {
        if (lane.running === 0) linger(socket);
        return;
      }
      const next = waiting.shift();
      if (next !== undefined) next();
      else if (socket.isPaused()) socket.resume();
    };
    if (lane.running < atOnce) return start();
    waiting.push(start);
    socket.pause();
    if (waiting.length <= mostWaiting) return;
    waiting.length = 0;
    lane.isOver = true;
  };
}
