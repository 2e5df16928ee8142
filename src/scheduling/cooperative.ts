import { Scheduler } from "./scheduler.ts";

export const SHARED = new Scheduler();
export const yieldToRequests = (): Promise<void> => SHARED.yieldToRequests();
export const noteRequest = (): void => SHARED.noteRequest();
export const prioritizeUntil = (waited: Promise<unknown>): void => SHARED.prioritizeUntil(waited);
export const underLoad = (): boolean => SHARED.isUnderLoad();
export const { querying: QUERYING, decoding: DECODING, heads: HEADS } = SHARED;
export const busyPoll = (isWanted: () => boolean): void => SHARED.busyPoll(isWanted);
export const busyPolled_ms = (): number => SHARED.busyPolled_ms;
