import type { App } from "../../state/app.ts";

/** The properties of every settings pane. */
export type PartProperties = { readonly app: App; readonly log: string };
