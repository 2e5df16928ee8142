import type { App } from "../app.ts";

/** What each part of the settings is given. */
export type PartProperties = { readonly app: App; readonly log: string };
