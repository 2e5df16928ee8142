import { LISTED_SETTINGS } from "../../src/settings.ts";

/** Returns the table of settings, in Markdown. */
export function settingsTable(): string {
  const rows = LISTED_SETTINGS.map(
    ({ name, standard, help }) => `| \`${name}\` | ${standard === "" ? "" : `\`${standard}\``} | ${help} |`,
  );
  return ["| variable | default | what it does |", "|---|---|---|", ...rows].join("\n");
}
