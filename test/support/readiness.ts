import { until } from "./until.ts";

type State = { readonly ok: boolean; readonly needed: boolean; readonly why?: string };

/** What `/health/ready` reports. */
export type Readiness = {
  readonly status: string;
  readonly why?: string;
  readonly dependencies: Readonly<Record<string, State>>;
  readonly holds?: readonly { readonly name: string }[];
};

/**
 * Returns the readiness of a listener once each dependency has answered: on a machine that stalls,
 * a sound one may answer too late.
 */
export function readinessOf(url: string): Promise<{ response: Response; readiness: Readiness }> {
  return until(
    async () => {
      const response = await fetch(`${url}/health/ready`);
      const readiness = (await response.json()) as Readiness;
      const states = Object.values(readiness.dependencies);
      return states.some(({ why = "" }) => why.startsWith("did not answer within")) ? null : { response, readiness };
    },
    { what: "each dependency to answer" },
  );
}
