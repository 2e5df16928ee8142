import type { ComponentType, JSX } from "preact";

import type { App } from "../../state/app.ts";
import { lastLog } from "../../state/last-log.ts";
import { lazy } from "../../parts/controls/lazy.tsx";
import { useTitle } from "../../state/title.ts";
import { visibleText } from "../../parts/text/visible-text.ts";
import { Message } from "../../parts/controls/message.tsx";
import type { PageAddress, SERVICE_PARTS } from "../../state/address.ts";
import { mayChange } from "../../state/roles.ts";
import { AccountsPane } from "../../features/settings/accounts.tsx";
import { BackupPane } from "../../features/settings/backup.tsx";
import { DeadLettersPane } from "../../features/settings/dead-letters.tsx";
import { GeneralPane } from "../../features/settings/general.tsx";
import { HealthPane } from "../../features/settings/health.tsx";
import { KeysPane } from "../../features/settings/keys.tsx";
import { LogsPane } from "../../features/settings/logs.tsx";
import type { PartProperties } from "../../features/settings/part.ts";
import { PasswordPane } from "../../features/settings/password.tsx";
import { PeoplePane } from "../../features/settings/people.tsx";
import { PreferencesPane } from "../../features/settings/preferences.tsx";
import { ReclassifyPane } from "../../features/settings/reclassify.tsx";
import { SavedQueriesPane } from "../../features/settings/saved-queries.tsx";
import { SessionsPane } from "../../features/settings/sessions.tsx";
import "../../css/forms.css";
import "../../css/settings.css";
import "../../css/tables.css";

const Webhooks = lazy(async () => (await import("../../features/webhooks/webhooks.tsx")).WebhooksPane);

type Part = { readonly key: string; readonly label: string; readonly view: ComponentType<PartProperties> };

const OF_LOG: readonly Part[] = [
  { key: "general", label: "General", view: GeneralPane },
  { key: "keys", label: "Keys", view: KeysPane },
  { key: "webhooks", label: "Webhooks", view: Webhooks },
  { key: "people", label: "People", view: PeoplePane },
  { key: "queries", label: "Saved queries", view: SavedQueriesPane },
  { key: "reclassify", label: "Reclassify", view: ReclassifyPane },
];
/** The panes of a log that are useful without the role admin. */
const OF_READER = OF_LOG.filter(({ key }) => key === "general" || key === "queries");
const OF_PERSON: readonly Part[] = [
  { key: "preferences", label: "Preferences", view: PreferencesPane },
  { key: "password", label: "Password", view: PasswordPane },
  { key: "sessions", label: "Sessions", view: SessionsPane },
];
const OF_SERVICE: readonly (Part & { readonly key: (typeof SERVICE_PARTS)[number] })[] = [
  { key: "accounts", label: "Accounts", view: AccountsPane },
  { key: "logs", label: "Logs", view: LogsPane },
  { key: "health", label: "Health", view: HealthPane },
  { key: "dead-letters", label: "Dead letters", view: DeadLettersPane },
  { key: "backup", label: "Backup and replay", view: BackupPane },
];

/** Explains why the pane that the address names is not available to the account. */
function whyMissing(part: string, log: string): string {
  const [ofLog, ofService] = [OF_LOG, OF_SERVICE].map((parts) => parts.find(({ key }) => key === part)?.label);
  if (ofService !== undefined) return `${ofService}: only admins of this service see it`;
  if (ofLog === undefined) return `The settings have no part ${visibleText(part)}`;
  return log === "" ? `${ofLog}: you may read no log` : `${ofLog}: only admins of the log ${log} see it`;
}

/** Settings of the log, of the account and, for service admins, of the service. */
export function SettingsScreen({ app }: { app: App }): JSX.Element {
  const { screen, log: named, part } = app.location.place.value;
  const log = named === "" ? lastLog(app) : named;
  const isServiceAdmin = app.session.account.value?.admin === true;
  const groups = [
    ...(log === "" ? [] : [{ title: `Log ${log}`, parts: mayChange(app, log) ? OF_LOG : OF_READER }]),
    { title: "You", parts: OF_PERSON },
    // Every account may create a log.
    { title: "Service", parts: isServiceAdmin ? OF_SERVICE : OF_SERVICE.filter(({ key }) => key === "logs") },
  ];
  const all = groups.flatMap(({ parts }) => parts);
  const [standard = all[0]] = screen === "settings" ? all : OF_PERSON;
  const shown = all.find(({ key }) => key === part) ?? standard;
  const missing = part === "" || all.some(({ key }) => key === part) ? null : whyMissing(part, log);
  const placeOf = (key: string): Partial<PageAddress> =>
    OF_LOG.some((each) => each.key === key)
      ? { screen: "settings", log, part: key }
      : { screen: "account", log: "", part: key };
  useTitle(app, shown?.label ?? "Settings", log);
  if (shown === undefined) return <main id="main" class="pane" />;
  const View = shown.view;
  return (
    <div class="set">
      <nav class="side" aria-label="Settings">
        {groups.map(({ title, parts }) => (
          <>
            <h2>{title}</h2>
            {parts.map(({ key, label }) => (
              <a href={app.location.link(placeOf(key))} aria-current={key === shown.key ? "page" : undefined}>
                {label}
              </a>
            ))}
            {(parts === OF_LOG || parts === OF_READER) && (
              <a href={app.location.link({ screen: "first-run", log })}>Sending guide</a>
            )}
          </>
        ))}
      </nav>
      <main id="main" tabIndex={-1} class="pane">
        <label class="only-small" for="settings-part">
          Part
        </label>
        <select
          class="in only-small"
          id="settings-part"
          value={shown.key}
          onChange={(event) => app.location.go(placeOf(event.currentTarget.value))}
        >
          {groups.map(({ title, parts }) => (
            <optgroup label={title}>
              {parts.map(({ key, label }) => (
                <option value={key}>{label}</option>
              ))}
            </optgroup>
          ))}
        </select>
        {missing !== null && (
          <Message kind="warn" title={missing}>
            {shown.label} is shown instead.
          </Message>
        )}
        <View key={shown.key} app={app} log={log} />
      </main>
    </div>
  );
}
