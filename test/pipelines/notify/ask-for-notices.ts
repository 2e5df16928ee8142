import { AUTHORIZATION, LOG } from "../../support/service.ts";
import type { Service } from "../../support/service.ts";

const CLASS = {
  key: "failure",
  display: "Failure",
  color: "red",
  tag: "error",
  text: "",
  link: "",
  source: "",
  weight: 1,
};

/** Makes a class `failure` of events tagged `error`, about which the admin asks for notices. */
export async function askForNotices(service: Pick<Service, "apiUrl">): Promise<void> {
  await manage(service, "POST", "/classFilters", CLASS);
  await manage(service, "PUT", "/classFilters/failure/options", { alert: false, notify: true, hide: false });
}

async function manage({ apiUrl }: Pick<Service, "apiUrl">, method: string, path: string, body: object): Promise<void> {
  const response = await fetch(`${apiUrl}/manage/1/logs/${LOG}${path}`, {
    method,
    headers: { Authorization: AUTHORIZATION, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
}
