import { useSignal } from "@preact/signals";
import type { JSX } from "preact";

import { Message } from "../../parts/controls/message.tsx";
import { countWithNoun, formatNumber } from "../../parts/text/numbers.ts";
import { PaneHead, StateDot } from "../../parts/controls/pane.tsx";
import { useAction, usePolling, useResource } from "../../parts/api/resource.ts";
import type { PartProperties } from "./part.ts";

type Hold = { readonly name: string; readonly why: string; readonly todo: string };
type Dependency = { readonly ok: boolean; readonly needed: boolean; readonly why?: string };
type Readiness = Readonly<Record<string, unknown>> & {
  readonly status: string;
  readonly dependencies?: Readonly<Record<string, Dependency>>;
};

const POLL_MS = 5_000;

/** Backlog figures from the metrics; null where metrics are served at another address. */
type Backlog = { readonly events: number; readonly age_s: number; readonly deadLetters: number };

/** Health checks of the service, with the reason for each that fails. */
export function HealthPane({ app }: PartProperties): JSX.Element {
  const holds = useResource<readonly Hold[]>(app, "/manage/1/holds");
  const { fault, act } = useAction();
  const readiness = useSignal<Readiness | null>(null);
  const backlog = useSignal<Backlog | null>(null);
  usePolling(true, POLL_MS, () => {
    // A 503 is a regular answer here: its body names the failing check.
    const read = async () => (await (await fetch("/health/ready")).json()) as Readiness;
    read().then(
      (answer) => (readiness.value = answer),
      () => (readiness.value = { status: "away" }),
    );
    readBacklog().then(
      (answer) => (backlog.value = answer),
      () => (backlog.value = null),
    );
  });
  const accept = ({ name }: Hold) =>
    act(async () => {
      await app.client.request(`/manage/1/holds/${encodeURIComponent(name)}/accept`, { method: "POST" });
      await holds.reload();
    });
  const { status = "unknown", dependencies = {}, ...parts } = readiness.value ?? {};
  return (
    <>
      <PaneHead title="Health" fault={fault.value ?? holds.fault.value}>
        The service is {status}.
      </PaneHead>
      {(holds.value.value ?? []).map((hold) => (
        <Message
          key={hold.name}
          kind="warn"
          title={hold.why}
          actions={[{ label: "I have seen to it", act: () => accept(hold) }]}
        >
          {hold.todo}
        </Message>
      ))}
      <table class="table">
        <caption class="sr">What the service depends on</caption>
        <tbody>
          {Object.entries(dependencies).map(([name, { ok, needed, why = "" }]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                <StateDot isOn={ok}>
                  {ok ? "Works" : needed ? "Does not work" : "Does not work, not needed here"}
                </StateDot>
              </td>
              <td>{why}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <FactList facts={{ ...(backlog.value !== null && backlogFacts(backlog.value)), ...parts }} />
    </>
  );
}

async function readBacklog(): Promise<Backlog | null> {
  const response = await fetch("/metrics");
  if (!response.ok) return null;
  const text = await response.text();
  const read = (name: string) => Number(new RegExp(`^loggia_${name} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
  const found = {
    events: read("pipeline_lag_events"),
    age_s: read("pipeline_lag_seconds"),
    deadLetters: read("dead_letters_open"),
  };
  return Object.values(found).every(Number.isFinite) ? found : null;
}

function backlogFacts({ events, age_s, deadLetters }: Backlog): Record<string, string> {
  const age = events === 0 ? "" : `, the oldest for ${Math.ceil(age_s)} s`;
  return {
    "not in the store yet": `${countWithNoun(events, "event")}${age}`,
    "dead letters": formatNumber(deadLetters),
  };
}

/** Renders a record of the API as a table of names and values. */
export function FactList({ facts }: { facts: Readonly<Record<string, unknown>> }): JSX.Element {
  return (
    <table class="table">
      <caption class="sr">Facts</caption>
      <tbody>
        {flatFacts(facts).map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Flattens a record into pairs of name and value; nested names get their parent as a prefix. */
export function flatFacts(facts: object, before = ""): readonly (readonly [string, string])[] {
  return Object.entries(facts).flatMap(([name, value]: [string, unknown]) => {
    const whole = before === "" ? name : `${before}, ${name}`;
    if (typeof value === "object" && value !== null) return flatFacts(value, whole);
    return [[whole, value === null ? "none" : `${value as string | number | boolean}`] as const];
  });
}
